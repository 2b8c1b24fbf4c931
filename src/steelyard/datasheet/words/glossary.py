"""What each metric, condition and interval method means, in one sentence that every report shares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A metric as a reader meets it."""

    label: str
    """Short name in tables."""
    meaning: str
    """One sentence; empty for a metric the glossary does not know."""
    signed: bool = False
    """True where zero is in the middle and the sign is shown."""


METRICS: dict[str, Term] = {
    "dark_current": Term(
        "dark current",
        "Calls that name a winner between two equal texts, or give a response without content more than "
        "the lowest score.",
    ),
    "mean_score": Term("mean score", "Mean of the scores given to responses without content."),
    "raw_false_preference": Term(
        "raw false preference",
        "Calls that name a winner between texts of the same quality; a mixture that its parts explain.",
    ),
    "stable_cross_sensitivity": Term(
        "stable cross-sensitivity",
        "Same-quality pairs where the same text wins in both orders: the judge responds to surface form.",
    ),
    "positional_false_preference": Term(
        "positional false preference",
        "Same-quality pairs where the same slot wins in both orders: the judge responds to position.",
    ),
    "one_sided_commit": Term("one-sided commit", "Pairs with a winner in exactly one of the two orders."),
    "other_conflict": Term(
        "other conflict",
        "Commits in pairs whose other order gave no verdict, as a share of all calls; zero in clean runs.",
    ),
    "no_preference": Term("no preference", "Pairs that are a tie in both orders."),
    "tie_rate": Term("tie rate", "Calls answered with a tie or a valid abstention."),
    "padded_preference": Term(
        "padded preference",
        "Decided calls that choose the text padded with filler; a judge blind to padding shows 0.50.",
    ),
    "net_slot_preference": Term(
        "net slot preference",
        "Slot-1 commits minus slot-2 commits, per call; above zero the judge leans to the first slot.",
        signed=True,
    ),
    "repeat_flip_rate": Term(
        "repeat flips",
        "Two calls on a pair in the same order that name different winners: noise alone.",
    ),
    "swap_flip_rate": Term(
        "swap flips", "Two calls on a pair in opposite orders that name different winners."
    ),
    "flip_excess": Term(
        "flip excess",
        "Swap flips minus repeat flips: what order adds to noise, whichever slot gains by it.",
        signed=True,
    ),
    "target_sensitivity": Term(
        "target sensitivity",
        "Calls that choose the better of two texts a known number of quality steps apart; a tie is a miss.",
    ),
    "nontie_accuracy": Term("accuracy without ties", "Correct calls among those that name a winner."),
    "miss_by_tie": Term("miss by tie", "Calls that answer tie although one text is better."),
    "wrong_choice": Term("wrong choice", "Calls that choose the worse text."),
    "dprime": Term(
        "d′",
        "Distance between the two orders in units of the judge's noise; at the ceiling it is only a bound.",
    ),
    "dprime_2afc": Term("d′ (2AFC)", "d′ divided by √2, the form used for two-alternative forced choice."),
    "delta75": Term(
        "75 % threshold",
        "Quality step from which three calls in four choose the better text; ≤ and > mark the ladder's ends.",
    ),
    "criterion_shift": Term(
        "criterion shift",
        "Tie rate under a stricter or more lenient protocol minus that under base, on the same pairs.",
        signed=True,
    ),
    "sensitivity_shift": Term(
        "sensitivity shift",
        "Target sensitivity under another protocol minus that under base, on the same pairs.",
        signed=True,
    ),
    "unreadable_rate": Term(
        "unreadable", "Calls whose reply could not be read as a verdict; never counted as a score."
    ),
    "failed_rate": Term("failed", "Calls that returned no reply after retries; never counted as a score."),
    "resolution": Term(
        "resolution", "Signal per quality step in units of the judge's noise, from the joint fit."
    ),
    "position_bias": Term(
        "position bias",
        "Constant push towards slot 1 in units of the judge's noise, from the joint fit.",
        signed=True,
    ),
    "tie_threshold": Term(
        "tie threshold",
        "Signal needed before the judge names a winner, in units of its noise, from the joint fit.",
    ),
    "surface_sensitivity": Term(
        "surface sensitivity",
        "Spread of the push that a pair's wording gives, in units of the judge's noise, from the joint fit.",
    ),
    "lapse_rate": Term("lapse rate", "Share of answers unrelated to the texts, from the joint fit."),
    "goodness_of_fit": Term(
        "misfit G²", "Distance of the 3×3 tables from the joint fit; its p says whether chance explains it."
    ),
    "fit_probability": Term(
        "p of the fit",
        "Share of data sets drawn from the joint fit that lie as far off; at 0.01 or less it is not read.",
    ),
    "limit_of_detection": Term(
        "limit of detection",
        "Quality step at which the judge names the better text in 95 % of calls, from the joint fit.",
    ),
    "resolution_ratio": Term(
        "resolution ratio", "Resolution under another protocol divided by resolution under the base protocol."
    ),
    "order_consistency": Term(
        "order consistency", "Pairs whose winner stays the same text when the order is reversed."
    ),
    "flip_first": Term("flips to slot 1", "Pairs whose winner changes with the order, to the first slot."),
    "flip_second": Term("flips to slot 2", "Pairs whose winner changes with the order, to the second slot."),
    "accuracy": Term(
        "accuracy", "Verdicts equal to the expected one; with a slot: where the better text stood."
    ),
    "accuracy_both": Term(
        "accuracy in both orders", "Pairs whose verdict is the expected one in both orders."
    ),
    "invariance": Term("invariance", "Scores equal to the judge's own score of the unchanged item."),
    "excess_flip": Term(
        "excess flips",
        "Changed verdicts on edited items beyond those that mere repeats show: the edit's effect.",
        signed=True,
    ),
    "self_agreement": Term(
        "self-agreement", "Pairs of repeats of the same input with equal scores; it says nothing of accuracy."
    ),
    "border_noise": Term(
        "border noise",
        "Repeats that differ at the border of the rubric beyond those that differ on unchanged items.",
        signed=True,
    ),
    "self_preference": Term(
        "self-preference",
        "How much better the judge treats texts of its own family than others with the same reference.",
        signed=True,
    ),
    "noise_floor": Term("noise floor", "Pairs of repeats of the same input whose scores differ."),
    "flip_rate": Term("flip rate", "Inputs whose repeats do not all have the same score."),
    "fleiss_kappa": Term("Fleiss κ", "Agreement of repeats beyond chance.", signed=True),
    "icc": Term(
        "intraclass correlation", "Share of the variance of scores that lies between inputs.", signed=True
    ),
    "false_positive_rate": Term("false positive rate", "Negatives that were scored positive."),
    "false_negative_rate": Term("false negative rate", "Positives that were scored negative."),
    "balanced_accuracy": Term(
        "balanced accuracy", "Mean of the shares of positives and of negatives that were scored right."
    ),
    "kappa": Term("Cohen κ", "Agreement with the label beyond chance.", signed=True),
    "gwet_ac1": Term("Gwet AC1", "Agreement beyond chance, steady when one label is rare.", signed=True),
    "within_one": Term("within one", "Scores at most one level from the label."),
    "mae": Term("mean absolute error", "Mean distance from the label, in levels."),
    "bias": Term("bias", "Mean signed distance from the label, in levels.", signed=True),
    "ccc": Term("concordance", "Lin's concordance correlation with the label.", signed=True),
    "pearson": Term("Pearson r", "Linear correlation with the label.", signed=True),
    "spearman": Term("Spearman ρ", "Rank correlation with the label.", signed=True),
    "qwk": Term(
        "quadratic-weighted κ", "Agreement beyond chance that weighs distant errors more.", signed=True
    ),
    "krippendorff_alpha": Term(
        "Krippendorff α",
        "Agreement of judge and label as two raters, distances counted in ranks.",
        signed=True,
    ),
    "compression": Term(
        "compression", "Spread of the scores over the spread of the labels; below 1 the judge huddles."
    ),
    "unused_levels": Term("unused levels", "Levels of the scale that the judge never gave."),
    "accuracy_mean": Term("mean accuracy", "Mean of the accuracies of all probes, each counted once."),
    "accuracy_sd": Term(
        "volatility", "Standard deviation of accuracy over probes; part of it is sampling, as the note says."
    ),
    "accuracy_sd_sampling": Term(
        "of sampling alone",
        "Standard deviation that accuracies on so few items show where all true accuracies are equal.",
    ),
    "accuracy_min": Term("worst probe", "Least accuracy of any probe."),
    "accuracy_max": Term("best probe", "Greatest accuracy of any probe."),
    "cost_per_call": Term("cost per call", "Dollars per call, from counted tokens and listed prices."),
    "cost_per_point": Term("cost per point", "Dollars per percentage point of accuracy on the same trials."),
    "cost_total": Term("dollars", "Dollars of the probe's labelled calls, lost ones included."),
    "tokens_input": Term("tokens in", "Tokens of all prompts of the run, as the server counted them."),
    "tokens_output": Term("tokens out", "Tokens of all replies of the run, as the server counted them."),
    "cost_input": Term(
        "dollars in", "Dollars of all prompts of the run, from counted tokens and listed prices."
    ),
    "cost_output": Term(
        "dollars out", "Dollars of all replies of the run, from counted tokens and listed prices."
    ),
    "cost_per_point_pooled": Term(
        "cost/point, pooled", "Dollars of all probes per percentage point of their mean accuracy."
    ),
    "cost_per_point_mean": Term(
        "cost/point, mean", "Mean over probes of their own cost per percentage point."
    ),
    "judges_mean": Term("mean over judges", "Mean of a probe's share over the judges of the run."),
    "judges_sd": Term(
        "spread over judges", "Standard deviation of a probe's share over judges; part of it is sampling."
    ),
    "judges_sd_sampling": Term(
        "of sampling alone", "Standard deviation over judges that shares on so few items show by chance."
    ),
    "judges_min": Term("least judge", "Least share of any judge on a probe."),
    "judges_max": Term("greatest judge", "Greatest share of any judge on a probe."),
    "jury_accuracy": Term(
        "jury accuracy", "Labelled inputs on which the judges' common verdict is the expected one."
    ),
    "jury_false_positive_rate": Term(
        "jury false positives", "Yes/no inputs of the label 0 that the judges' common verdict calls 1."
    ),
    "jury_false_negative_rate": Term(
        "jury false negatives", "Yes/no inputs of the label 1 that the judges' common verdict calls 0."
    ),
    "jury_error_rate": Term(
        "jury errors", "Yes/no inputs on which the judges' common verdict is not the expected one."
    ),
    "chosen_jury_apparent": Term(
        "best trio where chosen",
        "Accuracy of the best trio on the half of the tasks that chose it: flattering.",
    ),
    "chosen_jury_accuracy": Term(
        "best trio elsewhere", "Accuracy of the best trio on the half of the tasks that did not choose it."
    ),
    "best_judge_accuracy": Term(
        "best judge elsewhere",
        "Accuracy of the best single judge on the half of the tasks that did not choose it.",
    ),
    "jury_gain": Term(
        "gain of the trio",
        "Accuracy of the best trio minus that of the best judge, on the same inputs.",
        signed=True,
    ),
    "error_correlation": Term(
        "error correlation",
        "Correlation of two judges' errors over inputs; at 1 they err as one, and a jury gains nothing.",
        signed=True,
    ),
}

INTERVALS: dict[str, str] = {
    "wilson": "Wilson score interval on single calls; it claims nothing about clustering by task.",
    "wilson_cluster": (
        "Wilson score interval on the effective sample size after clustering by task, with Student's t on "
        "one degree of freedom less than there are tasks."
    ),
    "wilson_units": "Wilson score interval on the distinct pairs or items of one task; repeats count once.",
    "wilson_tasks": "Wilson score interval with the number of tasks as the sample size: the strict bound.",
    "goodman": (
        "Goodman simultaneous intervals over the cells of the decomposition, on distinct pairs; it claims "
        "nothing about clustering by task."
    ),
    "goodman_cluster": (
        "Goodman simultaneous intervals over the cells of the decomposition, on the effective sample size "
        "after clustering by task, with Student's t on one degree of freedom less than there are tasks."
    ),
    "jackknife_cluster": (
        "Student's t on the spread of the values that leave out one task each; on Fisher's z or a logarithm "
        "where the figure has an end."
    ),
    "bootstrap_cluster": "Percentiles of a bootstrap that draws whole tasks.",
    "bootstrap_cluster_paired": "Percentiles of a bootstrap that draws whole tasks with both arms together.",
    "random_mixture": (
        "Tasks show no spread: as if the largest share of random verdicts that the data allow were mixed in."
    ),
    "newcombe": "Newcombe's interval for a difference of two proportions, built from their Wilson intervals.",
    "newcombe_cluster": "Newcombe's interval built from intervals that are clustered by task.",
    "t_cluster": "Student's t on the spread between tasks.",
    "wilson_mean": "From the largest share of other scores that fits, where every task has the same mean.",
    "wilson_cluster_difference": "Difference of the limits of both shares, where tasks show no spread.",
    "wilson_steps": "Read off the limits of each quality step, where a bootstrap over tasks shows no spread.",
    "wilson_shares": "Computed from the Wilson limits of both orders.",
    "mover_cluster": (
        "Variance recovery from the Wilson limits of both orders, clustered by task, with the correlation "
        "that they show over tasks."
    ),
    "clopper_pearson": "Exact binomial interval.",
    "clopper_pearson_cluster": "Exact binomial interval on the effective size after clustering by task.",
    "tango": "Tango's score interval for a difference of two shares on the same units.",
    "tango_cluster": (
        "Tango's score interval for a difference on the same units, on the effective size after clustering "
        "by task, with Student's t on one degree of freedom less than there are tasks."
    ),
    "profile_cluster": (
        "Profile likelihood of the joint fit: values at which the other parameters can still make up the "
        "loss that Student's t allows, and more where tasks differ by more than independent pairs would."
    ),
    "profile": (
        "Profile likelihood of the joint fit: values at which the other parameters can still make up the "
        "loss; pairs count as independent."
    ),
    "sandwich_cluster": (
        "Sandwich of the joint fit over tasks, with Student's t on one degree of freedom less than there are "
        "tasks."
    ),
}

KINDS: dict[str, str] = {
    "empty": "empty",
    "blank": "blank",
    "identical": "identical texts",
    "off_topic": "off topic",
    "dont_know": "“I don't know”",
    "master_key": "one-token key",
    "vacuum": "vacuum",
    "same_subset": "same content, other words",
    "different_subset": "same amount, other content",
    "filler": "same content, padded",
    "natural": "natural pairs",
    "original": "unchanged items",
    "perturbed": "edited items",
}

PROBES: dict[str, str] = {
    "vacuum": "Vacuum",
    "ladder": "Quality ladder",
    "criterion": "Criterion",
    "position": "Natural pairs",
    "label_flip": "Label flip",
    "format_invariance_1": "Blank lines",
    "format_invariance_2": "Runs of spaces",
    "format_invariance_3": "Indentation",
    "semantic_paraphrase": "Paraphrase",
    "verbosity_bias_long": "Longer",
    "verbosity_bias_short": "Shorter",
    "verbosity_padding": "Padded",
    "typos": "Typing errors",
    "markdown": "Markdown",
    "rubric_order": "Rubric order",
    "score_range": "Other score range",
    "authority": "Claimed authority",
    "bandwagon": "Claimed majority",
    "injection": "Injection",
    "synthetic_ordinal": "Written levels",
    "stochastic_stability": "Same input again",
    "answer_ambiguity": "Border of the rubric",
    "self_preference": "Self-preference",
    "run": "All calls",
    "cost": "Cost",
    "volatility": "Volatility over probes",
    "pooled": "All probes together",
    "jury": "Juries",
}

FINDINGS: dict[str, str] = {
    "clear": "the data rule out an effect beyond the limit",
    "flagged": "the data show an effect beyond the limit",
    "underpowered": "the data cannot tell; more calls would",
    "measured": "a figure that has no limit to be held against",
    "undefined": "the figure cannot be formed; the reason is given",
}


def term(metric: str) -> Term:
    """The entry of a metric; one the glossary does not know is named by its id."""
    return METRICS.get(metric) or Term(metric.replace("_", " "), "")


def probe_name(probe: str) -> str:
    """The heading of a probe; one the glossary does not know is named by its id."""
    return PROBES.get(probe) or probe.replace("_", " ").capitalize()

"""Each line of `docs/security.md` has a test that fails where the line is not true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commands import Command
from docs_pages import ROOT

CONSENT, FILES, FOREIGN, SECRETS = "test_consent", "test_study_files", "test_foreign_files", "test_secrets"
OUTSIDE = f"{FILES}::test_a_study_file_reads_nothing_outside_its_folder_unasked"
BY_NAME = f"{SECRETS}::test_a_value_of_the_environment_is_struck_from_what_is_sent"
LINES = {
    "For those who open files of others": "test_security_page::test_each_line_has_a_test",
    "Look at a foreign study": f"{FOREIGN}::test_a_plan_shows_address_and_key_and_runs_no_code",
    "send its texts to the addresses": f"{CONSENT}::test_without_a_key_there_is_nothing_to_consent_to",
    "name the variable whose value": f"{CONSENT}::test_the_vendors_address_is_its_exact_host_over_https",
    "read regular files below": f"{FILES}::test_a_study_file_reached_otherwise_reads_beside_it",
    "run the code below its folder": f"{CONSENT}::test_the_file_of_a_module_is_one_of_the_study",
    "hold a key: one typed": f"{SECRETS}::test_a_key_in_place_of_a_variable_is_refused_and_not_repeated",
    "Send a key, the vendor's own too": f"{CONSENT}::test_files_and_keys_are_two_consents",
    "Read pipes and devices": f"{CONSENT}::test_texts_and_files_are_bounded",
    "Fill the memory with a template": f"{CONSENT}::test_a_template_of_a_study_file_fills_no_memory",
    "Keep the machine busy with one": f"{CONSENT}::test_a_template_of_a_study_file_takes_no_minutes",
    "supply keys: those of known": f"{FOREIGN}::test_a_dotenv_supplies_keys_and_nothing_else",
    "`plan` and `measure` say which key": f"{CONSENT}::test_a_key_of_a_dotenv_is_said",
    "set anything else: an address": f"{FOREIGN}::test_a_dotenv_supplies_keys_and_nothing_else",
    "Such variables are named": f"{FOREIGN}::test_a_dotenv_supplies_keys_and_nothing_else",
    "those already set stay": f"{FOREIGN}::test_the_environment_goes_before_a_dotenv",
    "be read by `report`": "test_security_page::test_a_run_folder_is_read_without_its_code",
    "run scripts in a browser": "test_html::test_the_policy_allows_the_scripts_of_the_page_and_no_other",
    "Prove its own honesty": "test_published_files::test_an_edited_datasheet_is_not_certified",
    "Bring its own `estimate.json`": "test_ratings::test_an_edited_estimate_is_not_certified",
    "neither finds forged replies": "test_security_page::test_a_forged_reply_is_not_found",
    "Be measured again by the study": "test_security_page::test_the_study_that_a_run_keeps_is_refused",
    "be opened from a disk": "test_view_bundle::test_everything_works_from_a_disk",
    "be opened from a disk or served": "test_view_bundle::test_no_page_asks_another_host",
    "ask for a password": "test_view_bundle::test_the_data_hold_every_call_figure_and_prompt_once",
    "fill the memory up to its own size": f"{CONSENT}::test_texts_and_files_are_bounded",
    "archives and Parquet files": f"{FOREIGN}::test_an_archive_that_unpacks_to_too_much_is_refused",
    "write files, run macros": "test_chat_completions::test_hostile_text_reaches_the_server_unchanged",
    "everything that you may": "test_plugin::test_the_datasheet_holds_the_plugins_estimate",
    "a study file may name a function": (
        "test_transcripts::test_a_preprocessor_may_be_a_function_of_an_installed_package"
    ),
    "**Consent.** A study file": OUTSIDE,
    "So every file that it names": OUTSIDE,
    "A key goes unasked": f"{CONSENT}::test_an_address_of_the_users_environment_is_the_users",
    "A terminal asks before": f"{FILES}::test_a_terminal_asks_once",
    "without one the command refuses": f"{CONSENT}::test_files_and_keys_are_two_consents",
    "`--yes` consents to both": f"{FILES}::test_consent_is_listed_and_lets_the_study_run",
    "In Python `measure` and `plan`": f"{FILES}::test_python_asks_before_a_key_goes_elsewhere",
    "Consent is remembered": f"{CONSENT}::test_consent_holds_for_the_hash_of_the_study_file",
    "when one of them changes": f"{CONSENT}::test_consent_is_to_what_the_study_did",
    "What you type yourself": f"{FILES}::test_what_the_user_types_needs_no_consent",
    "`plan` lists files": f"{CONSENT}::test_plans_list_files_variables_and_addresses",
    "**Keys** go in one header": "test_hostile_run::test_no_key_and_no_answer_reaches_the_wire",
    "`plan` shows address": f"{FOREIGN}::test_a_plan_shows_address_and_key_and_runs_no_code",
    "`measure` and `generate` say": f"{FOREIGN}::test_a_study_file_sends_no_variable_elsewhere_unasked",
    "`measure` and `generate` say what": (
        "test_generate_command::test_generate_writes_and_judges_nothing_and_review_comes_first"
    ),
    "Values of variables that look": BY_NAME,
    "short words and numbers": f"{SECRETS}::test_no_word_is_struck_from_a_prompt",
    "Whatever a server sends back": f"{SECRETS}::test_no_spelling_survives",
    "What a function or a framework's": "test_code_judge_secrets::test_a_secret_is_known_by_its_value",
    "Texts of your data are sent": f"{CONSENT}::test_without_a_key_there_is_nothing_to_consent_to",
    "[Telemetry]": "test_telemetry::test_telemetry_is_off_before_a_framework_is_imported",
    "**Pages** of `view`": "test_web_access::test_a_foreign_host_is_refused_with_cookie_and_token",
    "The token of a folder stays": "test_web_access::test_a_link_lasts_for_one_folder_and_one_key",
    "it is made with the key": "test_web_access::test_a_link_lasts_for_one_folder_and_one_key",
    "`--host` with `--allow-remote`": "test_web_access::test_other_machines_are_let_in_only_on_purpose",
    "the command says so": f"{FOREIGN}::test_a_listening_address_beyond_loopback_is_said",
    "The review page": "test_new_version::test_the_page_takes_a_prompt_by_keys_alone_and_escapes_it",
    "The command that it then prints": (
        "test_new_version::test_a_prompt_is_changed_and_the_printed_command_writes_the_texts"
    ),
}


def lines() -> list[str]:
    """Sentences and their halves, of paragraphs and of the table's cells."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!what you open|:--)[^|]+ \| (.+) \| (.+) \|$", page, re.M)
    texts = [cell for row in rows for cell in row]
    texts += [" ".join(part.split()) for part in page.split("\n\n") if not part.startswith(("|", "#"))]
    return [line for text in texts for line in re.split(r"(?<=[.;]) +", text) if line not in ("–", "")]


def test_each_line_has_a_test() -> None:
    found = lines()
    for line in found:
        assert [key for key in LINES if line.startswith(key)], line
    for key, name in LINES.items():
        assert [line for line in found if line.startswith(key)], key
        module, _, function = name.partition("::")
        assert f"def {function}(" in (ROOT / "tests" / f"{module}.py").read_text(encoding="utf-8"), name


JUDGE = (
    "from pathlib import Path\nPath('ran').touch()\n\n\ndef judge(request, first, second):\n    return '1'\n"
)


@pytest.fixture
def run(command: Command, tmp_path: Path) -> Path:
    (tmp_path / "evals.py").write_text(JUDGE)
    assert command("measure", "-j", "python/evals.py:judge", "-p", "vacuum", "--out", "run").code == 0
    (tmp_path / "ran").unlink()
    return tmp_path / "run"


@pytest.mark.parametrize(
    "words", ["report run", "report run --verify", "show run", "gate run --policy smoke", "export run"]
)
def test_a_run_folder_is_read_without_its_code(command: Command, run: Path, words: str) -> None:
    (run.parent / "evals.py").write_text(JUDGE + "\n")  # another text is another module
    assert command(*words.split()).code in (0, 3, 4)
    assert command("compare", "run:python/evals.py:judge", "run:coin").code == 0
    assert not (run.parent / "ran").exists()


def test_a_forged_reply_is_not_found(command: Command, run: Path) -> None:
    """A reply is what a server says: whoever ran the server says what he likes."""
    (run.parent / "forged.py").write_text(JUDGE.replace("'1'", "'tie'"))
    assert command("measure", "-j", "python/forged.py:judge", "-p", "vacuum", "--out", "forged").code == 0
    assert command("report", "forged", "--verify").code == 0


def test_the_study_that_a_run_keeps_is_refused(command: Command, run: Path) -> None:
    done = command("measure", run / "study.yaml")
    assert (done.code, "is what a run keeps of its study" in done.err) == (2, True)

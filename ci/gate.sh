#!/bin/sh
# The judge gate in continuous integration: check a certificate, or measure and gate.
#
# STUDY        study file (required)
# POLICY       smoke, default, strict or a YAML file [default]
# CERTIFICATE  where it is set, the certificate is checked against the study and nothing is spent
# BUDGET       dollars that a measurement may cost
# OUT          run folder [steelyard-run]
#
# Writes gate.xml (JUnit), gate.md (Markdown) and OUT/certificate.json; in GitHub Actions also errors and a
# summary of the job. Exit codes are those of `steelyard gate`.
set -u
: "${STUDY:?name a study file}"
POLICY=${POLICY:-default}
OUT=${OUT:-steelyard-run}

if [ -n "${CERTIFICATE:-}" ]; then
  exec steelyard gate "$STUDY" --certificate "$CERTIFICATE" --policy "$POLICY"
fi
steelyard measure "$STUDY" --out "$OUT" ${BUDGET:+--budget "$BUDGET"} || exit
exec steelyard gate "$OUT" --policy "$POLICY" --junit gate.xml --markdown gate.md

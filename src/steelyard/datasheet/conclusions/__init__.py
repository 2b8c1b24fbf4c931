"""From findings to a conclusion: rules, reasons in plain words, the word on the judge."""

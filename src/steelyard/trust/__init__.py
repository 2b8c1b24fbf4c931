"""Trust or escalate: which verdicts to accept, with a promise on their error, and which to send to people."""

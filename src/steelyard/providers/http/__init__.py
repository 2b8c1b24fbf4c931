"""HTTP to a model: endpoint, wire, errors, and what a request may hold."""

"""Looking at what was measured: any call behind any figure, without a call and without writing."""

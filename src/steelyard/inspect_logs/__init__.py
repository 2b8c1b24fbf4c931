"""To Inspect and back: stimuli as logs, a judge as a scorer."""

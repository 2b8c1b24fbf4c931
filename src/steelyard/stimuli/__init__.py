"""What is shown: stimuli with their lineage, frozen in sets."""

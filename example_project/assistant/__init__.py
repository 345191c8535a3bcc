"""Blue Kettle's assistant: an application of the team's own, which the evals and tests of this project look at."""

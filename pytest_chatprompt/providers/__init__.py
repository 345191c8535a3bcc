"""What providers need to send a request to an API, and the agents that a request can be handed to."""

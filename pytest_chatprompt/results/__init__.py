"""Results: what each test did, as one record that every report reads."""

"""The bench for estimators: usage series played on machines, and what each estimator promised against what came."""

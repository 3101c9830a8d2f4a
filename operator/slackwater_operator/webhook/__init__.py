"""The webhook for API servers that know no MutatingAdmissionPolicy: the program, its answers, the policies it knows."""

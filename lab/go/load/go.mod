module slackwater.io/lab/load

go 1.26.0

module github.com/kubectl-tidb/kubectl-tidb/test/node

go 1.26.0

require golang.org/x/sys v0.40.0

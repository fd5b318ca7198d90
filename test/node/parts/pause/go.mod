module github.com/kubectl-tidb/kubectl-tidb/test/node/parts/pause

go 1.26

module github.com/kubectl-tidb/kubectl-tidb/test/node

go 1.26.0

require (
	github.com/go-sql-driver/mysql v1.10.1
	golang.org/x/sys v0.40.0
)

require filippo.io/edwards25519 v1.2.0 // indirect

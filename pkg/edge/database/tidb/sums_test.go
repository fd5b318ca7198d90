package tidb

import "testing"

// TestReadsAll: only a right to read all tables, and not those of one database, lets two lists of tables be compared.
func TestReadsAll(t *testing.T) {
	for grant, want := range map[string]bool{
		"GRANT ALL PRIVILEGES ON *.* TO 'root'@'%' WITH GRANT OPTION":       true,
		"GRANT Select ON *.* TO 'reads'@'%'":                                true,
		"GRANT Insert,Select,Update ON *.* TO 'writes'@'%'":                 true,
		"GRANT INSERT, SELECT ON *.* TO 'writes'@'%'":                       true,
		"GRANT USAGE ON *.* TO 'app'@'%'":                                   false,
		"GRANT Select ON app.* TO 'app'@'%'":                                false,
		"GRANT Insert ON *.* TO 'app'@'%'":                                  false,
		"GRANT 'select'@'%' TO 'app'@'%'":                                   false,
		"GRANT BACKUP_ADMIN,RESTRICTED_TABLES_ADMIN ON *.* TO 'backup'@'%'": false,
	} {
		if got := everything.MatchString(grant); got != want {
			t.Errorf("%s: %t", grant, got)
		}
	}
}

func TestIdentifier(t *testing.T) {
	if got := (Table{Database: "a`b", Name: "c.d"}).sql(); got != "`a``b`.`c.d`" {
		t.Error(got)
	}
}

package backup

import "github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

// AnnotationVerified is on a Backup whose files were all found intact. Its value is the time of that.
const AnnotationVerified = "kubectl-tidb/verified"

// AnnotationDamaged is on a Backup of which a file was found damaged or gone. Its value is the time of that. Such a backup
// counts for nothing.
const AnnotationDamaged = "kubectl-tidb/damaged"

// VerifiedOf returns when all files of a Backup were found intact, "" where that is not known.
func VerifiedOf(b *v1alpha1.Backup) string { return b.Annotations[AnnotationVerified] }

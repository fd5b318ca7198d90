package backup

import (
	"fmt"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Source is what a Backup says of a restore from it.
type Source struct {
	Destination
	Secret, Account string
	// Size is how many bytes were written of what is restored, 0 where that is not known.
	Size int64
	// Version is the release of the cluster that was saved, "" where that is not known.
	Version string
}

// SourceOf returns where a restore finds a Backup; flaw says why there is none. The backup of a database has its tables
// only, so that the restore of another database is refused.
func SourceOf(b *v1alpha1.Backup, a Asked) (s Source, flaw string) {
	spec := b.Spec
	switch {
	case isBeingDeleted(b):
		return Source{}, "is being deleted"
	case spec.Mode == v1alpha1.BackupModeLog || spec.Mode == v1alpha1.BackupModeVolumeSnapshot || spec.BR == nil:
		return Source{}, "is no snapshot by BR"
	case incremental(spec.BR):
		return Source{}, "is incremental"
	case !has(b, v1alpha1.BackupComplete):
		return Source{}, "is not complete"
	case spec.S3 == nil:
		return Source{}, "is not in S3"
	case len(spec.TableFilter) > 0, spec.BR.DB != "" && spec.BR.DB != a.DB, spec.BR.Table != "" && spec.BR.Table != a.Table:
		return Source{}, "has " + ScopeOf(b) + " only"
	}
	d, err := ParseDestination(urlOf(b))
	if err != nil {
		return Source{}, "has a place that cannot be used: " + err.Error()
	}
	size := b.Status.BackupSize
	if a.DB != spec.BR.DB || a.Table != spec.BR.Table {
		size = 0 // a part of it, whose size is not known
	}
	return Source{Destination: d, Secret: spec.S3.SecretName, Account: spec.ServiceAccount, Size: size, Version: topology.Released(tagOf(spec.ToolImage))}, ""
}

// urlOf returns the URL of a Backup in S3.
func urlOf(b *v1alpha1.Backup) string {
	s3 := b.Spec.S3
	return Destination{
		Bucket: s3.Bucket, Prefix: strings.Trim(s3.Prefix, "/"), Endpoint: s3.Endpoint, Region: s3.Region, Provider: string(s3.Provider),
		StorageClass: s3.StorageClass, SSE: s3.SSE, ACL: s3.Acl, PathStyle: s3.ForcePathStyle,
	}.URL()
}

// ScopedBy narrows what is asked for to what a Backup has. A Backup of one table is restored as this table.
func (a Asked) ScopedBy(b *v1alpha1.Backup) Asked {
	if a.DB == "" && b.Spec.BR != nil {
		a.DB, a.Table = b.Spec.BR.DB, b.Spec.BR.Table
	}
	return a
}

// WithAccessOf returns what is asked for with the credentials that a Backup names, where the user names none.
func (a Asked) WithAccessOf(s Source) Asked {
	if a.Secret == "" && a.Account == "" {
		a.Secret, a.Account = s.Secret, s.Account
	}
	return a
}

// TooOld returns why a cluster cannot take a backup, "" where it can or the versions are not known. BR restores into the
// same release or a newer one.
func (s Source) TooOld(c topology.Cluster) string {
	is, err := topology.ParseVersion(tagOf(Image(c)))
	if err != nil {
		return ""
	}
	was, err := topology.ParseVersion(s.Version)
	if err != nil || !is.Less(was) {
		return ""
	}
	return fmt.Sprintf("the backup is of %s, and the cluster has %s", was, is)
}

func tagOf(image string) string {
	return image[strings.LastIndex(image, ":")+1:]
}

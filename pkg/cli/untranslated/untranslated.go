// Package untranslated keeps kubectl's packages from loading their translations. To load translations takes half of
// the time that the plugin needs to start. The plugin's own texts are English, and a mixture of two languages is of
// no use.
package untranslated

import "k8s.io/kubectl/pkg/util/i18n"

// Other packages of kubectl translate texts when they are initialised. This package comes before them, since Go
// initialises packages in the order of paths. If it came too late, nothing would change; a test of package cli sees
// that.
var _ = i18n.SetLoadTranslationsFunc(func() error { return nil })

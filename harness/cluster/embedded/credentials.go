package embedded

import (
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Names of certificates: files are pki/<name>.crt and .key.
const (
	certCA          = "ca"
	certAPIServer   = "apiserver"
	certServing     = "serving" // controller manager and scheduler
	certEtcdCA      = "etcd-ca"
	certEtcd        = "etcd"
	certEtcdPeer    = "etcd-peer"
	certEtcdClient  = "apiserver-etcd-client"
	certEtcdProbe   = "reckon-etcd-client"
	certSigning     = "service-accounts"
	kwokUser        = "reckon:kwok" // manifests/kwok/rbac.yaml
	serviceCIDR     = "10.96.0.0/16"
	firstServiceIP  = "10.96.0.1"
	podCIDR         = "10.244.0.0/16"
	serviceDomain   = "cluster.local"
	adminUser       = "reckon:admin"
	superUsersGroup = "system:masters"
)

// credentials are all keys and certificates of a cluster.
//
// etcd has an authority of its own: otherwise everybody with a certificate for
// the API could read and write the store behind it.
type credentials struct {
	ca, etcdCA *authority
	pairs      map[string]keyPair
	admin      keyPair
	clients    map[string]keyPair // by component
}

func newCredentials(name string, now time.Time) (*credentials, error) {
	c := &credentials{pairs: map[string]keyPair{}, clients: map[string]keyPair{}}
	steps := []func() error{
		func() (err error) { c.ca, err = newAuthority("reckon-"+name, now); return },
		func() (err error) { c.etcdCA, err = newAuthority("reckon-"+name+"-etcd", now); return },
		c.issueServers, c.issueEtcd, c.issueClients,
		func() (err error) { c.pairs[certSigning], err = signingPair(); return },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("certificates: %w", err)
		}
	}
	return c, nil
}

func (c *credentials) issueServers() (err error) {
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + serviceDomain}
	if c.pairs[certAPIServer], err = c.ca.server("kube-apiserver", names, []net.IP{net.ParseIP(firstServiceIP)}); err != nil {
		return err
	}
	c.pairs[certServing], err = c.ca.server("reckon-serving", nil, nil)
	return err
}

func (c *credentials) issueEtcd() (err error) {
	// The server certificate is used as a client certificate too: etcd's own
	// gateway dials its client port.
	if c.pairs[certEtcd], err = c.etcdCA.server("etcd", nil, nil, x509.ExtKeyUsageClientAuth); err != nil {
		return err
	}
	if c.pairs[certEtcdPeer], err = c.etcdCA.server("etcd-peer", nil, nil, x509.ExtKeyUsageClientAuth); err != nil {
		return err
	}
	if c.pairs[certEtcdClient], err = c.etcdCA.client("kube-apiserver"); err != nil {
		return err
	}
	c.pairs[certEtcdProbe], err = c.etcdCA.client("reckon")
	return err
}

func (c *credentials) issueClients() (err error) {
	if c.admin, err = c.ca.client(adminUser, superUsersGroup); err != nil {
		return err
	}
	users := map[string]string{
		controllerManagerName: "system:kube-controller-manager",
		schedulerName:         "system:kube-scheduler",
		kwokName:              kwokUser,
	}
	for component, user := range users {
		if c.clients[component], err = c.ca.client(user); err != nil {
			return err
		}
	}
	return nil
}

// write puts everything where the components expect it.
func (c *credentials) write(l layout, name, server string) error {
	c.pairs[certCA] = keyPair{cert: c.ca.pem}
	c.pairs[certEtcdCA] = keyPair{cert: c.etcdCA.pem}
	for file, pair := range c.pairs {
		if err := writeFile(l.cert(file), pair.cert); err != nil {
			return err
		}
		if pair.key == nil {
			continue
		}
		if err := writeFile(l.key(file), pair.key); err != nil {
			return err
		}
	}
	// The controller manager signs certificate requests, as in every cluster.
	// etcd's authority signs nothing any more: its key is never written.
	key, err := encodeKey(c.ca.key)
	if err != nil {
		return err
	}
	if err := writeFile(l.key(certCA), key); err != nil {
		return err
	}
	for component, pair := range c.clients {
		if err := c.writeKubeconfig(l.componentConf(component), name, server, component, pair); err != nil {
			return err
		}
	}
	return c.writeKubeconfig(l.kubeconfig(), name, server, "admin", c.admin)
}

// writeKubeconfig writes a file that needs no other file.
func (c *credentials) writeKubeconfig(path, name, server, user string, pair keyPair) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.ca.pem}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("kubeconfig of %s: %w", user, err)
	}
	return writeFile(path, data)
}

// restConfig is the administrator's. The client does not throttle itself: the
// server has priority and fairness, and a drill's calls must not wait in here.
func (c *credentials) restConfig(server string) *rest.Config {
	return &rest.Config{
		Host: server,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.ca.pem,
			CertData: c.admin.cert,
			KeyData:  c.admin.key,
		},
		QPS:       -1,
		UserAgent: "reckon",
	}
}

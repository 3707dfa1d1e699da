package embedded

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"testing"
	"time"
)

func testCredentials(t *testing.T) (*credentials, time.Time) {
	t.Helper()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	c, err := newCredentials("test", now)
	if err != nil {
		t.Fatal(err)
	}
	return c, now
}

func parse(t *testing.T, pair keyPair) *x509.Certificate {
	t.Helper()
	if _, err := tls.X509KeyPair(pair.cert, pair.key); err != nil {
		t.Fatalf("certificate and key do not belong together: %v", err)
	}
	block, _ := pem.Decode(pair.cert)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func verify(cert *x509.Certificate, ca *authority, host string, now time.Time, usage x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	_, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

func TestServerCertificates(t *testing.T) {
	c, now := testCredentials(t)
	for name, ca := range map[string]*authority{certAPIServer: c.ca, certServing: c.ca, certEtcd: c.etcdCA, certEtcdPeer: c.etcdCA} {
		cert := parse(t, c.pairs[name])
		for _, host := range []string{loopback, "localhost"} {
			if err := verify(cert, ca, host, now, x509.ExtKeyUsageServerAuth); err != nil {
				t.Errorf("%s for %s: %v", name, host, err)
			}
		}
		if verify(cert, ca, "192.0.2.1", now, x509.ExtKeyUsageServerAuth) == nil {
			t.Errorf("%s is good for any host", name)
		}
		if verify(cert, ca, loopback, now.Add(2*certLife), x509.ExtKeyUsageServerAuth) == nil {
			t.Errorf("%s never expires", name)
		}
	}
	if err := verify(parse(t, c.pairs[certAPIServer]), c.ca, firstServiceIP, now, x509.ExtKeyUsageServerAuth); err != nil {
		t.Error(err)
	}
}

func TestClientCertificates(t *testing.T) {
	c, now := testCredentials(t)
	admin := parse(t, c.admin)
	if err := verify(admin, c.ca, "", now, x509.ExtKeyUsageClientAuth); err != nil {
		t.Error(err)
	}
	if !slices.Equal(admin.Subject.Organization, []string{superUsersGroup}) {
		t.Errorf("administrator's groups: %v", admin.Subject.Organization)
	}
	for component, user := range map[string]string{
		controllerManagerName: "system:kube-controller-manager", schedulerName: "system:kube-scheduler", kwokName: kwokUser,
	} {
		cert := parse(t, c.clients[component])
		if err := verify(cert, c.ca, "", now, x509.ExtKeyUsageClientAuth); err != nil {
			t.Errorf("%s: %v", component, err)
		}
		if cert.Subject.CommonName != user || len(cert.Subject.Organization) != 0 {
			t.Errorf("%s is %v", component, cert.Subject)
		}
		if verify(cert, c.ca, "", now, x509.ExtKeyUsageServerAuth) == nil {
			t.Errorf("%s could serve", component)
		}
	}
}

// An administrator of the API must not be able to talk to the store behind it.
func TestAuthoritiesAreApart(t *testing.T) {
	c, now := testCredentials(t)
	if verify(parse(t, c.admin), c.etcdCA, "", now, x509.ExtKeyUsageClientAuth) == nil {
		t.Error("etcd's authority accepts the administrator")
	}
	if verify(parse(t, c.pairs[certEtcdClient]), c.ca, "", now, x509.ExtKeyUsageClientAuth) == nil {
		t.Error("the cluster's authority accepts etcd's client")
	}
	if err := verify(parse(t, c.pairs[certEtcdClient]), c.etcdCA, "", now, x509.ExtKeyUsageClientAuth); err != nil {
		t.Error(err)
	}
}

func TestLeavesCannotSign(t *testing.T) {
	c, now := testCredentials(t)
	leaf := parse(t, c.admin)
	if leaf.IsCA || leaf.KeyUsage&x509.KeyUsageCertSign != 0 {
		t.Error("the administrator's certificate can sign")
	}
	if !c.ca.cert.NotBefore.Before(now) || !leaf.NotBefore.Before(now) {
		t.Error("not valid yet for a clock that is a little behind")
	}
}

package io.rdmaraw.examples.http;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;

import java.net.InetAddress;

/** Creates the self-signed certificate of the servers for localhost and one address. */
final class Certificate {
    private Certificate() {
    }

    static X509Bundle selfSigned(InetAddress address) throws Exception {
        return new CertificateBuilder().subject("CN=localhost").setIsCertificateAuthority(true)
                .addSanDnsName("localhost").addSanIpAddress(address).buildSelfSigned();
    }
}

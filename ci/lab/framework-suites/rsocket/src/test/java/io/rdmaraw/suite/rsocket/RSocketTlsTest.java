package io.rdmaraw.suite.rsocket;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import reactor.netty.tcp.TcpClient;
import reactor.netty.tcp.TcpServer;

/** Tests with Reactor Netty's {@code TcpServer} and {@code TcpClient} over TLS. */
class RSocketTlsTest extends ReactorNettyPairTest {
    @Override
    TcpServer tcpServer(TcpServer plain) {
        try {
            X509Bundle certificate = new CertificateBuilder().subject("CN=localhost").setIsCertificateAuthority(true)
                    .buildSelfSigned();
            SslContext context = SslContextBuilder.forServer(certificate.toKeyManagerFactory()).build();
            return plain.secure(tls -> tls.sslContext(context));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    TcpClient tcpClient(TcpClient plain) {
        try {
            SslContext context = SslContextBuilder.forClient().trustManager(InsecureTrustManagerFactory.INSTANCE)
                    .endpointIdentificationAlgorithm(null).build();
            return plain.secure(tls -> tls.sslContext(context));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}

package io.grpc.testing.integration;

import io.grpc.ChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.ServerBuilder;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.testing.TlsTesting;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/** gRPC's interoperability tests with TLS, with client and server in one process. Both have certificates. */
@RunWith(JUnit4.class)
public class TlsInteropTest extends AbstractInteropTest {
    private static final SocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    @Override
    protected ServerBuilder<?> getServerBuilder() {
        ServerCredentials credentials;
        try {
            credentials = TlsServerCredentials.newBuilder()
                    .keyManager(TlsTesting.loadCert("server1.pem"), TlsTesting.loadCert("server1.key"))
                    .trustManager(TlsTesting.loadCert("ca.pem"))
                    .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE).build();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return NettyServerBuilder.forAddress(ANY_PORT, credentials).flowControlWindow(TEST_FLOW_CONTROL_WINDOW)
                .maxInboundMessageSize(MAX_MESSAGE_SIZE);
    }

    @Override
    protected ManagedChannelBuilder<?> createChannelBuilder() {
        ChannelCredentials credentials;
        try {
            credentials = TlsChannelCredentials.newBuilder()
                    .keyManager(TlsTesting.loadCert("client.pem"), TlsTesting.loadCert("client.key"))
                    .trustManager(TlsTesting.loadCert("ca.pem")).build();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return NettyChannelBuilder.forAddress(getListenAddress(), credentials).overrideAuthority("foo.test.google.fr")
                .flowControlWindow(TEST_FLOW_CONTROL_WINDOW).maxInboundMessageSize(MAX_MESSAGE_SIZE);
    }

    /** The transport has no part in the metrics for OpenCensus. */
    @Override
    protected boolean metricsExpected() {
        return false;
    }
}

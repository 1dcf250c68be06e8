package io.grpc.testing.integration;

import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.ServerBuilder;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;

/** gRPC's interoperability tests without TLS, with client and server in one process. */
@RunWith(JUnit4.class)
public class PlaintextInteropTest extends AbstractInteropTest {
    private static final SocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    @Override
    protected ServerBuilder<?> getServerBuilder() {
        return NettyServerBuilder.forAddress(ANY_PORT, InsecureServerCredentials.create())
                .flowControlWindow(TEST_FLOW_CONTROL_WINDOW).maxInboundMessageSize(MAX_MESSAGE_SIZE);
    }

    @Override
    protected ManagedChannelBuilder<?> createChannelBuilder() {
        return NettyChannelBuilder.forAddress(getListenAddress(), InsecureChannelCredentials.create())
                .flowControlWindow(TEST_FLOW_CONTROL_WINDOW).maxInboundMessageSize(MAX_MESSAGE_SIZE);
    }

    /** The transport has no part in the metrics for OpenCensus. */
    @Override
    protected boolean metricsExpected() {
        return false;
    }
}

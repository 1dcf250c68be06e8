package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.ServerSocketSuspendTest;
import io.netty.testsuite.transport.socket.SocketAddressesTest;
import io.netty.testsuite.transport.socket.SocketChannelNotYetConnectedTest;
import io.netty.testsuite.transport.socket.SocketConnectionAttemptTest;
import io.netty.testsuite.transport.socket.SocketMultipleConnectTest;
import io.netty.testsuite.transport.socket.SocketSslClientRenegotiateTest;
import io.netty.testsuite.transport.socket.SocketSslSessionReuseTest;
import io.netty.testsuite.transport.socket.TrafficShapingHandlerTest;
import io.netty.testsuite.transport.socket.WriteBeforeRegisteredTest;
import io.netty.util.NetUtil;
import io.rdmaraw.testsuite.leak.LeakExtension;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

/** Runs Netty's own tests of TCP channels, with this transport at both ends, on the loop device. */
@ExtendWith({LeakExtension.class, LoopGroups.class})
class StreamOnLoopTest extends AbstractStreamTest {
    @Override
    List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> combos() {
        return RdmaRawSocketTestPermutation.INSTANCE.socket();
    }

    @Override
    SocketAddress address() {
        return new InetSocketAddress(NetUtil.LOCALHOST, 0);
    }

    private static List<BootstrapFactory<Bootstrap>> clients() {
        return RdmaRawSocketTestPermutation.INSTANCE.clientSocket();
    }

    private static List<BootstrapFactory<ServerBootstrap>> servers() {
        return RdmaRawSocketTestPermutation.INSTANCE.serverSocket();
    }

    @Nested
    class MultipleConnect extends SocketMultipleConnectTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }
    }

    @Nested
    class SslClientRenegotiate extends SocketSslClientRenegotiateTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }
    }

    @Nested
    class SslSessionReuse extends SocketSslSessionReuseTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }
    }

    @Nested
    class TrafficShapingHandler extends TrafficShapingHandlerTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }
    }

    @Nested
    class Addresses extends SocketAddressesTest {
        @Override
        protected List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> newFactories() {
            return combos();
        }

        @Override
        protected void assertAddress(SocketAddress address) {
            assertNotEquals(0, assertInstanceOf(InetSocketAddress.class, address).getPort());
        }
    }

    @Nested
    class ChannelNotYetConnected extends SocketChannelNotYetConnectedTest {
        @Override
        protected List<BootstrapFactory<Bootstrap>> newFactories() {
            return clients();
        }

        @Override
        @Disabled("its peer is a socket of the JDK, which is not on a loop device")
        public void readMustBePendingUntilChannelIsActive(TestInfo testInfo) {
        }
    }

    @Nested
    class ConnectionAttempt extends SocketConnectionAttemptTest {
        @Override
        protected List<BootstrapFactory<Bootstrap>> newFactories() {
            return clients();
        }
    }

    @Nested
    class WriteBeforeRegistered extends WriteBeforeRegisteredTest {
        @Override
        protected List<BootstrapFactory<Bootstrap>> newFactories() {
            return clients();
        }
    }

    @Nested
    class ServerSocketSuspend extends ServerSocketSuspendTest {
        @Override
        protected List<BootstrapFactory<ServerBootstrap>> newFactories() {
            return servers();
        }
    }
}

package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.socket.DatagramUnicastInetTest;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;

/**
 * Runs Netty's tests of TCP and datagram channels over libmlx5 on an emulated card, with NIO in another namespace, in
 * both roles. One test is excluded: it sends 100 MB within 30 seconds, too much for the emulator on a busy machine.
 */
@WithTestNetwork
@ExtendWith({LeakExtension.class, StreamOverCardTest.NotTooMuch.class})
@Tag("kernel-interface")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StreamOverCardTest extends AbstractStreamTest {
    private EmulatedCard card;

    static final class NotTooMuch implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return context.getTestClass().filter(ConditionalWritability.class::equals).isPresent()
                    ? ConditionEvaluationResult.disabled("more than the emulator carries on a busy machine")
                    : ConditionEvaluationResult.enabled("");
        }
    }

    @BeforeAll
    void open(TestNetwork network) throws Exception {
        card = new EmulatedCard(network);
    }

    @AfterAll
    void close() {
        card.close();
    }

    @Override
    List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> combos() {
        return List.of(
                card.combo(true,
                        () -> new ServerBootstrap().group(card.ours).channel(RdmaRawServerSocketChannel.class),
                        () -> new Bootstrap().group(card.nio).channelFactory(() -> card.inPeer(NioSocketChannel::new))),
                card.combo(false,
                        () -> new ServerBootstrap().group(card.nio)
                                .channelFactory(() -> card.inPeer(NioServerSocketChannel::new)),
                        () -> new Bootstrap().group(card.ours).channel(RdmaRawSocketChannel.class)));
    }

    @Override
    SocketAddress address() {
        return card.server(0, false);
    }

    private Bootstrap ours(SocketProtocolFamily family) {
        return new Bootstrap().group(card.ours).channelFactory(() -> new RdmaRawDatagramChannel(family));
    }

    private Bootstrap nio(SocketProtocolFamily family) {
        return new Bootstrap().group(card.nio)
                .channelFactory(() -> card.inPeer(() -> new NioDatagramChannel(family)));
    }

    @Nested
    class Datagrams extends DatagramUnicastInetTest {
        @Override
        protected List<BootstrapComboFactory<Bootstrap, Bootstrap>> newFactories() {
            SocketProtocolFamily family = socketInternetProtocalFamily();
            return List.of(card.combo(true, () -> ours(family), () -> nio(family)),
                    card.combo(false, () -> nio(family), () -> ours(family)));
        }

        /** The test sends from a socket in this process's namespace, which has no route to either end. */
        @Override
        @Disabled("the ends are in other namespaces than the test's own socket")
        public void testReceiveEmptyDatagrams(TestInfo testInfo) {
        }

        /** The test uses one address for both ends, so each end binds to all of its addresses. */
        @Override
        protected SocketAddress newSocketAddress() {
            return new InetSocketAddress(0);
        }

        @Override
        protected InetSocketAddress convertAnyAddress(InetSocketAddress serverAddress) {
            return card.server(serverAddress.getPort(), false);
        }
    }

    @Nested
    class DatagramsOfIpv6 extends Datagrams {
        @Override
        protected SocketProtocolFamily socketInternetProtocalFamily() {
            return SocketProtocolFamily.INET6;
        }

        @Override
        protected InetSocketAddress convertAnyAddress(InetSocketAddress serverAddress) {
            return card.server(serverAddress.getPort(), true);
        }
    }
}

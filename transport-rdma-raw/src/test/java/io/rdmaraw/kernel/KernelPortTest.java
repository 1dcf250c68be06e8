package io.rdmaraw.kernel;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.socket.NumberedOptions;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Collections;

class KernelPortTest {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    /** The kernel does not accept a filter for so many addresses. */
    private static final TcpNetwork.SteeredAddresses TOO_MANY = new TcpNetwork.SteeredAddresses(1,
            Collections.nCopies(5_000, IpAddress.of(InetAddress.getLoopbackAddress())));

    private final KernelPort port = new KernelPort(new Server());

    /** A server with a kernel socket is moved to a loop without kernel sockets. */
    @Test
    void failureOfFilterDoesNotConcernNextPort() throws Exception {
        port.open(ANY_PORT, 0);
        port.ignoreSteered(TOO_MANY);
        port.close();
        assertDoesNotThrow(() -> port.requireSilent(null, "next"));
    }

    /** A filter that fails after the check is only logged. The next port is checked again. */
    @Test
    void checkOfPreviousPortDoesNotCount() throws Exception {
        port.open(ANY_PORT, 0);
        port.requireSilent(null, "first");
        port.close();
        port.open(ANY_PORT, 0);
        port.ignoreSteered(TOO_MANY);
        // The failure is recorded: its message needs the port.
        assertThrows(NullPointerException.class, () -> port.requireSilent(null, "second"));
        assertTrue(port.isOpen());
        port.close();
    }

    private static final class Server implements KernelPort.Server {
        @Override
        public Channel channel() {
            return null;
        }

        @Override
        public int backlog() {
            return 1;
        }

        @Override
        public int mark() {
            return 0;
        }

        @Override
        public NumberedOptions kernelOptions() {
            return new NumberedOptions();
        }

        @Override
        public boolean isReusePort() {
            return false;
        }

        @Override
        public boolean mayAccept() {
            return false;
        }

        @Override
        public void accepted(Channel connection) {
            throw new AssertionError("accepts nothing");
        }

        @Override
        public void acceptFailed(Exception cause) {
            throw new AssertionError(cause);
        }

        @Override
        public boolean supportsOption(ChannelOption<?> option) {
            return true;
        }
    }
}

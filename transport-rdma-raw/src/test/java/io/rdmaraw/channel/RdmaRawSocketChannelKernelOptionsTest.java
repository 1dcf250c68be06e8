package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.ChannelOption;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioSocketChannel;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.net.SocketOption;

/** The options of a channel at a socket of the kernel's, which carries what the device's link does not lead to. */
class RdmaRawSocketChannelKernelOptionsTest {
    private final RdmaRawSocketChannelConfig settings = new RdmaRawSocketChannel().config();
    private final NioSocketChannel socket = new NioSocketChannel();
    private final SocketChannelConfig kernel = socket.config();

    @AfterEach
    void close() {
        socket.unsafe().closeForcibly();
    }

    private int get(SocketOption<Integer> option) {
        return kernel.getOption(NioChannelOption.of(option));
    }

    private <T> void set(ChannelOption<T> option, T value) {
        assertTrue(settings.setOption(option, value));
    }

    @Test
    void keepaliveReachesIt() {
        set(ChannelOption.SO_KEEPALIVE, true);
        set(RdmaRawChannelOption.TCP_KEEPIDLE, 77);
        set(RdmaRawChannelOption.TCP_KEEPINTVL, 7);
        set(RdmaRawChannelOption.TCP_KEEPCNT, 3);
        settings.applyTo(kernel);
        assertTrue(kernel.isKeepAlive());
        assertEquals(77, get(ExtendedSocketOptions.TCP_KEEPIDLE));
        assertEquals(7, get(ExtendedSocketOptions.TCP_KEEPINTERVAL));
        assertEquals(3, get(ExtendedSocketOptions.TCP_KEEPCOUNT));
        set(ChannelOption.SO_KEEPALIVE, false);
        settings.applyTo(kernel);
        assertFalse(kernel.isKeepAlive());
    }

    @Test
    void theOthersReachItToo() {
        set(ChannelOption.TCP_NODELAY, false);
        set(ChannelOption.SO_REUSEADDR, true);
        set(ChannelOption.IP_TOS, 0x28);
        set(ChannelOption.SO_SNDBUF, 20_000);
        set(ChannelOption.SO_RCVBUF, 30_000);
        settings.applyTo(kernel);
        assertFalse(kernel.isTcpNoDelay());
        assertTrue(kernel.isReuseAddress());
        assertEquals(0x28, kernel.getTrafficClass());
        assertEquals(20_000, kernel.getSendBufferSize());
        assertEquals(30_000, kernel.getReceiveBufferSize());
    }

    @Test
    void whatNobodyHasSetIsTheKernels() {
        int sendBytes = kernel.getSendBufferSize();
        int receiveBytes = kernel.getReceiveBufferSize();
        int idleSeconds = get(ExtendedSocketOptions.TCP_KEEPIDLE);
        settings.applyTo(kernel);
        assertTrue(kernel.isTcpNoDelay(), "the default of the channel");
        assertEquals(sendBytes, kernel.getSendBufferSize());
        assertEquals(receiveBytes, kernel.getReceiveBufferSize());
        assertEquals(idleSeconds, get(ExtendedSocketOptions.TCP_KEEPIDLE));
    }
}

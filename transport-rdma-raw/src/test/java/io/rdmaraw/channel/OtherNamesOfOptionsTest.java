package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelOption;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.socket.nio.NioChannelOption;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.reflect.Field;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.List;
import java.util.stream.Stream;

/** Options can be set under the names of the JDK and of Netty's other transports, for which programs were written. */
class OtherNamesOfOptionsTest {
    private final RdmaRawSocketChannelConfig stream = new RdmaRawSocketChannel().config();
    private final RdmaRawServerSocketChannelConfig server = new RdmaRawServerSocketChannel().config();
    private final RdmaRawDatagramChannelConfig datagram = new RdmaRawDatagramChannel().config();

    private static <T> Arguments same(SocketOption<T> name, ChannelOption<T> option, T value) {
        return Arguments.of(NioChannelOption.of(name), option, value);
    }

    private static <T> Arguments uring(String name, ChannelOption<T> option, T value) {
        return Arguments.of(ChannelOption.valueOf("io.netty.channel.uring.IoUringChannelOption#" + name), option,
                value);
    }

    static Stream<Arguments> ofStreams() {
        return Stream.of(
                same(ExtendedSocketOptions.TCP_KEEPIDLE, RdmaRawChannelOption.TCP_KEEPIDLE, 11),
                same(ExtendedSocketOptions.TCP_KEEPINTERVAL, RdmaRawChannelOption.TCP_KEEPINTVL, 12),
                same(ExtendedSocketOptions.TCP_KEEPCOUNT, RdmaRawChannelOption.TCP_KEEPCNT, 13),
                same(StandardSocketOptions.SO_RCVBUF, ChannelOption.SO_RCVBUF, 70_000),
                same(StandardSocketOptions.SO_SNDBUF, ChannelOption.SO_SNDBUF, 80_000),
                same(StandardSocketOptions.SO_KEEPALIVE, ChannelOption.SO_KEEPALIVE, true),
                same(StandardSocketOptions.SO_REUSEADDR, ChannelOption.SO_REUSEADDR, true),
                same(StandardSocketOptions.SO_LINGER, ChannelOption.SO_LINGER, 7),
                same(StandardSocketOptions.TCP_NODELAY, ChannelOption.TCP_NODELAY, false),
                same(StandardSocketOptions.IP_TOS, ChannelOption.IP_TOS, 32),
                uring("TCP_KEEPIDLE", RdmaRawChannelOption.TCP_KEEPIDLE, 21),
                uring("TCP_KEEPINTVL", RdmaRawChannelOption.TCP_KEEPINTVL, 22),
                uring("TCP_KEEPCNT", RdmaRawChannelOption.TCP_KEEPCNT, 23),
                uring("TCP_USER_TIMEOUT", RdmaRawChannelOption.TCP_USER_TIMEOUT, 24),
                uring("TCP_NOTSENT_LOWAT", RdmaRawChannelOption.TCP_NOTSENT_LOWAT, 16_384L),
                uring("TCP_CORK", RdmaRawChannelOption.TCP_CORK, true),
                uring("TCP_QUICKACK", RdmaRawChannelOption.TCP_QUICKACK, true));
    }

    static Stream<Arguments> ofServers() {
        return Stream.of(
                same(StandardSocketOptions.SO_RCVBUF, ChannelOption.SO_RCVBUF, 70_000),
                same(StandardSocketOptions.SO_REUSEADDR, ChannelOption.SO_REUSEADDR, false),
                same(StandardSocketOptions.SO_REUSEPORT, RdmaRawChannelOption.SO_REUSEPORT, true),
                uring("TCP_DEFER_ACCEPT", RdmaRawChannelOption.TCP_DEFER_ACCEPT, 5));
    }

    static Stream<Arguments> ofDatagrams() {
        return Stream.of(
                same(StandardSocketOptions.SO_BROADCAST, ChannelOption.SO_BROADCAST, true),
                same(StandardSocketOptions.SO_RCVBUF, ChannelOption.SO_RCVBUF, 70_000),
                same(StandardSocketOptions.SO_SNDBUF, ChannelOption.SO_SNDBUF, 80_000),
                same(StandardSocketOptions.SO_REUSEADDR, ChannelOption.SO_REUSEADDR, true),
                same(StandardSocketOptions.SO_REUSEPORT, RdmaRawChannelOption.SO_REUSEPORT, true),
                same(StandardSocketOptions.IP_MULTICAST_TTL, ChannelOption.IP_MULTICAST_TTL, 9),
                same(StandardSocketOptions.IP_TOS, ChannelOption.IP_TOS, 32));
    }

    @ParameterizedTest
    @MethodSource("ofStreams")
    <T> void streamOptionsHaveOtherNames(ChannelOption<T> name, ChannelOption<T> option, T value) {
        setByName(stream, name, option, value);
    }

    @ParameterizedTest
    @MethodSource("ofServers")
    <T> void serverOptionsHaveOtherNames(ChannelOption<T> name, ChannelOption<T> option, T value) {
        setByName(server, name, option, value);
    }

    @ParameterizedTest
    @MethodSource("ofDatagrams")
    <T> void datagramOptionsHaveOtherNames(ChannelOption<T> name, ChannelOption<T> option, T value) {
        setByName(datagram, name, option, value);
    }

    private static <T> void setByName(ChannelConfig config, ChannelOption<T> name, ChannelOption<T> option, T value) {
        assertTrue(config.setOption(name, value), name.name());
        assertEquals(value, config.getOption(option));
        assertEquals(value, config.getOption(name));
        assertFalse(config.getOptions().containsKey(name), "an option is listed once");
    }

    /** A constant of Netty's epoll transport is the same object as this transport's constant of the same name. */
    @Test
    void constantsOfEpollAreTheSameOptions() throws IllegalAccessException {
        int count = 0;
        for (Field field : EpollChannelOption.class.getFields()) {
            for (Field own : RdmaRawChannelOption.class.getFields()) {
                if (own.getName().equals(field.getName())) {
                    assertSame(field.get(null), own.get(null), field.getName());
                    count++;
                }
            }
        }
        assertTrue(count > 10, "options: " + count);
    }

    /** The JDK's option enables the loopback of multicast datagrams, Netty's disables it. */
    @Test
    void multicastLoopIsInvertedBetweenJdkAndNetty() {
        ChannelOption<Boolean> loop = NioChannelOption.of(StandardSocketOptions.IP_MULTICAST_LOOP);
        assertTrue(datagram.setOption(loop, false));
        assertTrue(datagram.isLoopbackModeDisabled());
        assertFalse(datagram.getOption(loop));
    }

    @Test
    void napiIdIsRejectedWithReason() {
        ChannelOption<Integer> napi = NioChannelOption.of(ExtendedSocketOptions.SO_INCOMING_NAPI_ID);
        for (ChannelConfig config : List.of(stream, server, datagram)) {
            assertTrue(assertThrows(UnsupportedOperationException.class, () -> config.getOption(napi)).getMessage()
                    .contains("do not pass the kernel's network stack"));
            assertThrows(UnsupportedOperationException.class, () -> config.setOption(napi, 1));
        }
    }

    /** The constants are the same objects as those of Netty's epoll transport, if it is on the class path. */
    @Test
    void constantsAreSameObjectsAsThoseOfEpoll() {
        assertSame(EpollChannelOption.TCP_NOTSENT_LOWAT, RdmaRawChannelOption.TCP_NOTSENT_LOWAT);
        assertSame(EpollChannelOption.TCP_CORK, RdmaRawChannelOption.TCP_CORK);
        assertSame(EpollChannelOption.TCP_QUICKACK, RdmaRawChannelOption.TCP_QUICKACK);
        assertSame(EpollChannelOption.TCP_DEFER_ACCEPT, RdmaRawChannelOption.TCP_DEFER_ACCEPT);
        assertSame(EpollChannelOption.TCP_KEEPIDLE, RdmaRawChannelOption.TCP_KEEPIDLE);
    }

    @Test
    void invalidValueIsRejectedWithOptionName() {
        assertTrue(assertThrows(IllegalArgumentException.class,
                () -> stream.setOption(RdmaRawChannelOption.TCP_MAXSEG, 40)).getMessage().contains("TCP_MAXSEG"));
        assertTrue(assertThrows(IllegalArgumentException.class,
                () -> server.setOption(RdmaRawChannelOption.TCP_MAXSEG, 40_000)).getMessage().contains("TCP_MAXSEG"));
        assertTrue(assertThrows(IllegalArgumentException.class,
                () -> stream.setOption(RdmaRawChannelOption.TCP_NOTSENT_LOWAT, -1L)).getMessage()
                .contains("TCP_NOTSENT_LOWAT"));
        assertTrue(assertThrows(IllegalArgumentException.class,
                () -> server.setOption(RdmaRawChannelOption.TCP_DEFER_ACCEPT, -1)).getMessage()
                .contains("TCP_DEFER_ACCEPT"));
    }

    @Test
    void inapplicableOptionsAreUnknown() {
        assertFalse(stream.setOption(NioChannelOption.of(StandardSocketOptions.IP_MULTICAST_TTL), 1));
        assertFalse(server.setOption(NioChannelOption.of(StandardSocketOptions.TCP_NODELAY), true));
    }
}

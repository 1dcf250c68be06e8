package io.rdmaraw.testsuite.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Compares the values of channel options with those of epoll's channels after the same call, also at the bounds of
 * their range.
 */
class OptionsTest {
    @BeforeAll
    static void loadEpoll() {
        Epoll.ensureAvailability();
    }

    static Stream<Arguments> options() {
        return Stream.of(
                Arguments.of(ChannelOption.SO_SNDBUF, 1),
                Arguments.of(ChannelOption.SO_SNDBUF, 2304),
                Arguments.of(ChannelOption.TCP_NODELAY, false),
                Arguments.of(ChannelOption.SO_KEEPALIVE, true),
                Arguments.of(ChannelOption.SO_REUSEADDR, true),
                Arguments.of(ChannelOption.SO_LINGER, -1),
                Arguments.of(ChannelOption.SO_LINGER, -7),
                Arguments.of(ChannelOption.SO_LINGER, 0),
                Arguments.of(ChannelOption.SO_LINGER, 7),
                Arguments.of(ChannelOption.IP_TOS, 0x10),
                Arguments.of(ChannelOption.ALLOW_HALF_CLOSURE, true),
                Arguments.of(EpollChannelOption.IP_BIND_ADDRESS_NO_PORT, true),
                Arguments.of(EpollChannelOption.TCP_CORK, true),
                Arguments.of(EpollChannelOption.TCP_QUICKACK, false),
                Arguments.of(EpollChannelOption.TCP_NOTSENT_LOWAT, 0L),
                Arguments.of(EpollChannelOption.TCP_NOTSENT_LOWAT, 1L << 31),
                Arguments.of(EpollChannelOption.TCP_NOTSENT_LOWAT, (1L << 32) - 1),
                Arguments.of(EpollChannelOption.TCP_KEEPIDLE, 1),
                Arguments.of(EpollChannelOption.TCP_KEEPIDLE, 32_767),
                Arguments.of(EpollChannelOption.TCP_KEEPINTVL, 32_767),
                Arguments.of(EpollChannelOption.TCP_KEEPCNT, 127),
                Arguments.of(EpollChannelOption.TCP_USER_TIMEOUT, 0),
                Arguments.of(EpollChannelOption.TCP_USER_TIMEOUT, Integer.MAX_VALUE));
    }

    @ParameterizedTest
    @MethodSource("options")
    <T> void haveTheSameValueAsOnEpoll(ChannelOption<T> option, T value) {
        assertEquals(set(EpollSocketChannel::new, option, value), set(RdmaRawSocketChannel::new, option, value));
    }

    @Test
    void sendBuffersOfDatagramsHaveTheSameMinimum() {
        assertEquals(set(EpollDatagramChannel::new, ChannelOption.SO_SNDBUF, 1),
                set(RdmaRawDatagramChannel::new, ChannelOption.SO_SNDBUF, 1));
    }

    private static <T> T set(Supplier<Channel> newChannel, ChannelOption<T> option, T value) {
        Channel channel = newChannel.get();
        try {
            channel.config().setOption(option, value);
            return channel.config().getOption(option);
        } finally {
            channel.unsafe().closeForcibly();
        }
    }

    /** Checks the accepted difference {@code options-of-closed-channel} of docs/reference/differences.md. */
    @Test
    void closedChannelHasThem() {
        RdmaRawSocketChannel channel = new RdmaRawSocketChannel();
        channel.unsafe().closeForcibly();
        channel.config().setSoLinger(3);
        assertEquals(3, channel.config().getSoLinger());
    }
}

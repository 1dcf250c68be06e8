package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.CharsetUtil;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** Channels that send with their SYN (RFC 7413), on a loop device. */
@Timeout(60)
class FastOpenChannelTest {
    private static final int LOOPS = 3;
    private static final int MAX_CONNECTIONS = 100;

    private final StreamLab lab = new StreamLab(new LoopDevice(), LOOPS, 1);
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

    @AfterEach
    void shutDown() {
        lab.close();
    }

    @Sharable
    private final class Answers extends SimpleChannelInboundHandler<ByteBuf> {
        private String text = "";

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
            text += msg.toString(CharsetUtil.US_ASCII);
            if (text.endsWith(".")) {
                answers.add(text);
                text = "";
            }
        }
    }

    private InetSocketAddress serve(int fastOpens) throws InterruptedException {
        return lab.listen("127.0.0.1", new StreamLab.Echo(),
                settings -> settings.option(ChannelOption.TCP_FASTOPEN, fastOpens));
    }

    private Channel open() throws InterruptedException {
        return lab.client(new Answers()).option(ChannelOption.TCP_FASTOPEN_CONNECT, true).register().sync().channel();
    }

    /** Writes before connecting; the promise of the write. */
    private ChannelFuture connect(Channel channel, InetSocketAddress server, String text)
            throws InterruptedException {
        ChannelFuture written = channel.write(Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII));
        channel.connect(server).sync();
        return written;
    }

    private long taken(Channel client) throws InterruptedException {
        return value(((RdmaRawSocketChannel) client).loopStack(), "fast-opens.taken");
    }

    private static long value(TcpStack stack, String metric) {
        RdmaRawTcpStatistics tcp = stack.counters();
        return tcp.value(tcp.metrics().stream().filter(m -> m.name().equals(metric)).findFirst().orElseThrow());
    }

    @Test
    void whatWasWrittenGoesWithTheSynOfTheSecondConnection() throws InterruptedException {
        InetSocketAddress server = serve(16);
        Channel first = open();
        connect(first, server, "one.").sync();
        assertEquals("one.", answers.take());
        assertEquals(0, taken(first), "the first has no cookie yet");
        Channel second = open();
        connect(second, server, "two.").sync();
        assertEquals("two.", answers.take());
        assertEquals(1, taken(second));
        second.writeAndFlush(Unpooled.copiedBuffer("three.", CharsetUtil.US_ASCII)).sync();
        assertEquals("three.", answers.take());
    }

    @Test
    void whatTheSynDoesNotHoldFollows() throws InterruptedException {
        InetSocketAddress server = serve(16);
        connect(open(), server, "one.").sync();
        assertEquals("one.", answers.take());
        String text = "0123456789".repeat(200_000) + '.';
        Channel second = open();
        ChannelFuture written = connect(second, server, text);
        assertEquals(text, answers.take());
        assertTrue(written.sync().isSuccess());
        assertEquals(1, taken(second));
    }

    @Test
    void aServerWithoutFastOpenGetsItAfterTheHandshake() throws InterruptedException {
        InetSocketAddress server = serve(0);
        for (int i = 0; i < 2; i++) {
            Channel channel = open();
            connect(channel, server, "late.").sync();
            assertEquals("late.", answers.take());
            assertEquals(0, taken(channel));
        }
    }

    /** The SYN with a cookie may reach another loop than that which gave it. */
    @Test
    void allLoopsOfAServerKnowTheCookie() throws InterruptedException {
        InetSocketAddress server = serve(16);
        connect(open(), server, "one.").sync();
        assertEquals("one.", answers.take());
        lab.accepted();
        Set<TcpStack> stacks = new HashSet<>();
        for (int i = 1; stacks.size() < LOOPS; i++) {
            assertTrue(i < MAX_CONNECTIONS, "connections reach every loop");
            Channel channel = open();
            connect(channel, server, "more.").sync();
            assertEquals("more.", answers.take());
            stacks.add(((TcpFlow) lab.accepted().carrier()).stack());
            assertEquals(i, taken(channel), "every SYN with data was taken");
        }
        for (TcpStack stack : stacks) {
            assertTrue(value(stack, "fast-opens") > 0);
        }
    }

    @Test
    void nobodyListens() throws InterruptedException {
        Channel channel = open();
        ChannelFuture written = channel.write(Unpooled.copiedBuffer("lost.", CharsetUtil.US_ASCII));
        ChannelFuture connected = channel.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), 9));
        assertThrows(ConnectException.class, connected::sync);
        assertFalse(written.isDone(), "what was written is not sent");
        channel.close().sync();
        assertThrows(ClosedChannelException.class, written::sync);
    }
}

package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.ChannelOutputShutdownEvent;
import io.netty.channel.socket.ChannelOutputShutdownException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.atomic.AtomicInteger;

/** {@code shutdownOutput} with and without pending writes behaves as in Netty's other transports. */
@Timeout(60)
class RdmaRawSocketChannelOutputEndTest {
    private static final int SEND_BUFFER_BYTES = 5_000;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);
    private final AtomicInteger ends = new AtomicInteger();
    private RdmaRawSocketChannel writer;

    private final class Ends extends ChannelInboundHandlerAdapter {
        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event == ChannelOutputShutdownEvent.INSTANCE) {
                ends.incrementAndGet();
            }
        }
    }

    @BeforeEach
    void connect() throws InterruptedException {
        InetSocketAddress server = fixture.listen("127.0.0.1", new ChannelInboundHandlerAdapter(), settings -> settings
                .childOption(ChannelOption.AUTO_READ, false).childOption(ChannelOption.ALLOW_HALF_CLOSURE, true));
        writer = (RdmaRawSocketChannel) fixture.client(new Ends())
                .option(ChannelOption.SO_SNDBUF, SEND_BUFFER_BYTES).connect(server).sync().channel();
        fixture.accepted();
    }

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    private void assertEnded() throws InterruptedException {
        assertTrue(writer.isOutputShutdown());
        assertTrue(writer.isActive());
        assertFalse(writer.isWritable());
        assertEquals(0, writer.bytesBeforeUnwritable());
        assertEquals(Long.MAX_VALUE, writer.bytesBeforeWritable());
        ByteBuf late = Unpooled.buffer().writeByte(1);
        assertInstanceOf(ClosedChannelException.class, writer.writeAndFlush(late).await().cause());
        assertEquals(0, late.refCnt());
        assertInstanceOf(ClosedChannelException.class, writer.shutdownOutput().await().cause());
        assertEquals(1, ends.get());
    }

    @Test
    void writesFailAfterShutdownOutput() throws InterruptedException {
        assertTrue(writer.isWritable());
        writer.shutdownOutput().sync();
        assertEnded();
    }

    @Test
    void pendingWritesFailWithReason() throws InterruptedException {
        ByteBuf content = Unpooled.buffer().writeZero(1_000 * SEND_BUFFER_BYTES);
        ChannelFuture flushed = writer.writeAndFlush(content);
        writer.shutdownOutput().sync();
        assertInstanceOf(ChannelOutputShutdownException.class, flushed.await().cause());
        assertEnded();
    }

    @Test
    void unflushedWritesFailWithReason() throws InterruptedException {
        ByteBuf content = Unpooled.buffer().writeByte(1);
        ChannelFuture written = writer.write(content);
        writer.shutdownOutput().sync();
        assertInstanceOf(ChannelOutputShutdownException.class, written.await().cause());
        assertEquals(0, content.refCnt());
        assertEnded();
    }

    @Test
    void cancelledShutdownHasNoEffect() throws InterruptedException {
        assertTrue(writer.eventLoop().submit(() -> {
            var promise = writer.newPromise();
            return promise.cancel(false) && writer.shutdownOutput(promise).isCancelled();
        }).sync().getNow());
        assertFalse(writer.isOutputShutdown());
        assertEquals(0, ends.get());
    }
}

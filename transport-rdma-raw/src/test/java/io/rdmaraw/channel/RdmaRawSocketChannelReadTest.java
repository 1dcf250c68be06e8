package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static io.rdmaraw.channel.StreamFixture.settle;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.FixedRecvByteBufAllocator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;

/** A channel delivers only as many messages as were requested. The others wait. */
@Timeout(60)
class RdmaRawSocketChannelReadTest {
    private static final int PIECE_BYTES = 10;

    private final StreamFixture fixture = new StreamFixture(LoopDevice.inMemory(), 1, 1);
    /** Accessed on the child's loop only. */
    private int messages;
    private int bytes;
    private RdmaRawSocketChannel sender;
    private RdmaRawSocketChannel reader;

    private final class Counting extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            messages++;
            bytes += ((ByteBuf) msg).readableBytes();
            ((ByteBuf) msg).release();
        }
    }

    @BeforeEach
    void connect() throws InterruptedException {
        InetSocketAddress server = fixture.listen("127.0.0.1", new Counting(), settings -> settings.childOption(
                ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(PIECE_BYTES).maxMessagesPerRead(1)));
        sender = fixture.connect(server, new ChannelInboundHandlerAdapter());
        reader = fixture.accepted();
    }

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    /** Sends data and waits until the reader's loop has received and processed it. */
    private void send(int pieces) throws Exception {
        long expected = reader.tcpInfo().get().bytesReceived() + (long) pieces * PIECE_BYTES;
        sender.writeAndFlush(Unpooled.wrappedBuffer(new byte[pieces * PIECE_BYTES])).sync();
        while (reader.tcpInfo().get().bytesReceived() < expected) {
            assertTrue(reader.isActive());
        }
        settle(reader.eventLoop());
    }

    private int readBytes() {
        return on(reader.eventLoop(), () -> bytes);
    }

    private void awaitRead(int expected) {
        while (readBytes() < expected) {
            // The channel may have closed with the last bytes after the loop condition was checked.
            assertTrue(reader.isActive() || readBytes() >= expected);
        }
    }

    /** The receive window counts bytes, so all segments within it must be accepted, however small they are. */
    @Test
    void tinySegmentsWithinWindowAreAllAccepted() throws Exception {
        int pieces = 600;
        reader.config().setAutoRead(false);
        reader.config().setReceiveBufferSize(16 << 10);
        for (int i = 0; i < pieces; i++) {
            send(1);
        }
        reader.config().setAutoRead(true);
        awaitRead(pieces * PIECE_BYTES);
    }

    /** Auto-read is switched off by another thread and by the loop itself. */
    @Test
    void withoutAutoReadDataWaitsForRead() throws Exception {
        send(1);
        awaitRead(PIECE_BYTES);
        reader.config().setAutoRead(false);
        settle(reader.eventLoop());
        send(5);
        assertEquals(PIECE_BYTES, readBytes());
        reader.config().setAutoRead(true);
        awaitRead(6 * PIECE_BYTES);
        reader.eventLoop().submit(() -> reader.config().setAutoRead(false)).sync();
        send(5);
        assertEquals(6 * PIECE_BYTES, readBytes());
        reader.config().setAutoRead(true);
        awaitRead(11 * PIECE_BYTES);
    }

    /** The peer has sent its FIN before any data was read. The channel closes after it has delivered the data. */
    @Test
    void endOfStreamFollowsUnreadData() throws Exception {
        reader.config().setAutoRead(false);
        settle(reader.eventLoop());
        send(3);
        sender.shutdownOutput().sync();
        while (!reader.tcpInfo().get().state().equals("CLOSE_WAIT")) {
            assertTrue(reader.isActive());
        }
        for (int read = 1; read <= 3; read++) {
            settle(reader.eventLoop());
            assertTrue(reader.isOpen() && !reader.isInputShutdown());
            reader.read();
            awaitRead(read * PIECE_BYTES);
        }
        assertTrue(reader.closeFuture().await(60_000));
    }

    @Test
    void readDeliversOneMessage() throws Exception {
        reader.config().setAutoRead(false);
        settle(reader.eventLoop());
        send(4);
        for (int read = 1; read <= 4; read++) {
            reader.read();
            awaitRead(read * PIECE_BYTES);
            settle(reader.eventLoop());
            assertEquals(read, on(reader.eventLoop(), () -> messages));
        }
        // This read is requested before data has arrived.
        reader.read();
        settle(reader.eventLoop());
        send(3);
        awaitRead(5 * PIECE_BYTES);
        settle(reader.eventLoop());
        assertEquals(5, on(reader.eventLoop(), () -> messages));
    }
}

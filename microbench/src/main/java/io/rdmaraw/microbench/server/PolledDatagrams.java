package io.rdmaraw.microbench.server;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;

/**
 * Sends DNS queries (RFC 1035) on one socket and keeps a fixed number of them outstanding. Each outstanding query
 * occupies a slot. After an answer, the slot sends the next query. A query without an answer for half a second counts
 * as lost, and its slot also sends the next query. Late answers are ignored, because their ID no longer matches.
 */
final class PolledDatagrams implements PolledClient {
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int DIGITS = 3;
    private static final long LOST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final int POLL_MILLIS = 100;
    private static final int HEADER_BYTES = 12;
    private static final int IDS = 1 << 16;
    /** Header flags: recursion desired in a query; QR and RCODE in an answer. */
    private static final int QUESTION = 0x0100;
    private static final int IS_ANSWER = 0x8000;
    private static final int CODE = 0x000f;
    private static final int CLASS_INTERNET = 1;
    private static final String[] NAMES = {"www.example.test", "www.example.test", "text.example.test",
        "nobody.example.test"};
    /** Record types of the queries. The last query is for a name that does not exist. */
    private static final int[] TYPES = {1, 28, 16, 1};
    private static final int[] CODES = {0, 0, 0, 3};

    private final Histogram nanos = new Histogram(MAX_NANOS, DIGITS);
    private final long lostNanos;
    private Channel channel;
    private long wrong;
    private boolean isOver;

    PolledDatagrams() {
        this(LOST_NANOS);
    }

    /** Creates a client for which a query is lost after this time. */
    PolledDatagrams(long lostNanos) {
        this.lostNanos = lostNanos;
    }

    @Override
    public void open(EventLoopGroup group, InetSocketAddress server, int connections) throws InterruptedException {
        Answers answers = new Answers(server, connections);
        channel = new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class).handler(answers)
                .bind(new InetSocketAddress(0)).sync().channel();
        channel.eventLoop().submit(() -> answers.begin(channel.pipeline().context(answers))).sync();
    }

    @Override
    public long startMeasuring() {
        nanos.reset();
        return System.nanoTime();
    }

    @Override
    public Result result() {
        isOver = true;
        return new Result(wrong, nanos.copy(), System.nanoTime());
    }

    @Override
    public void close() throws InterruptedException {
        channel.close().sync();
    }

    private static void write(ByteBuf to, int id, int question) {
        to.writeShort(id).writeShort(QUESTION).writeShort(1).writeZero(6);
        for (String label : NAMES[question].split("\\.")) {
            to.writeByte(label.length()).writeCharSequence(label, StandardCharsets.US_ASCII);
        }
        to.writeByte(0).writeShort(TYPES[question]).writeShort(CLASS_INTERNET);
    }

    private final class Answers extends SimpleChannelInboundHandler<DatagramPacket> {
        private final InetSocketAddress server;
        private final long[] askedNanos;
        /**
         * ID of the outstanding query of each slot. It equals the index of the slot plus a multiple of the number of
         * slots.
         */
        private final int[] ids;
        private Future<?> looking;

        Answers(InetSocketAddress server, int outstanding) {
            this.server = server;
            askedNanos = new long[outstanding];
            ids = IntStream.range(0, outstanding).toArray();
        }

        void begin(ChannelHandlerContext ctx) {
            for (int place = 0; place < ids.length; place++) {
                ask(ctx, place);
            }
            ctx.flush();
            looking = ctx.executor().scheduleAtFixedRate(() -> askAgain(ctx), POLL_MILLIS, POLL_MILLIS,
                    TimeUnit.MILLISECONDS);
        }

        private void askAgain(ChannelHandlerContext ctx) {
            long now = System.nanoTime();
            for (int place = 0; place < ids.length && !isOver; place++) {
                if (now - askedNanos[place] > lostNanos) {
                    wrong++;
                    ask(ctx, place);
                }
            }
            ctx.flush();
        }

        private void ask(ChannelHandlerContext ctx, int place) {
            int next = ids[place] + ids.length;
            ids[place] = next < IDS ? next : place;
            ByteBuf question = ctx.alloc().directBuffer();
            write(question, ids[place], place % NAMES.length);
            askedNanos[place] = System.nanoTime();
            ctx.write(new DatagramPacket(question, server), ctx.voidPromise());
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
            ByteBuf answer = packet.content();
            if (answer.readableBytes() < HEADER_BYTES) {
                return;
            }
            int id = answer.getUnsignedShort(answer.readerIndex());
            int flags = answer.getUnsignedShort(answer.readerIndex() + 2);
            int place = id % ids.length;
            if (id != ids[place] || (flags & IS_ANSWER) == 0 || (flags & CODE) != CODES[place % NAMES.length]) {
                // The answer does not match. The query stays outstanding and will count as lost.
                return;
            }
            nanos.recordValue(Math.min(MAX_NANOS, System.nanoTime() - askedNanos[place]));
            if (!isOver) {
                ask(ctx, place);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            looking.cancel(false);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }
}

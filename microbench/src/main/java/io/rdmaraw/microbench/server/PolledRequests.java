package io.rdmaraw.microbench.server;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.HdrHistogram.Histogram;

/**
 * HTTP requests, one at a time on each connection, and how long each is under way. The first answer of a connection is
 * read with its head, and the others are as long. Used by the thread of the event loop.
 */
final class PolledRequests {
    private static final Pattern LENGTH = Pattern.compile("(?i)\r\ncontent-length: *(\\d+)\r\n");
    private static final String GOOD = "HTTP/1.1 200 ";
    /** Where the status begins in an answer. */
    private static final int STATUS_AT = GOOD.indexOf('2');
    private static final String HEAD_END = "\r\n\r\n";
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int DIGITS = 3;

    /**
     * What was measured.
     *
     * @param answeredInAll warm-up included
     * @param wrong         connections that ended: by the server, or here after an answer that is not a good one
     * @param nanos         of each request that was answered since {@link #startMeasuring}
     * @param atNanos       when this was
     */
    record Result(long answeredInAll, long wrong, Histogram nanos, long atNanos) {
    }

    private final ByteBuf request;
    private final Histogram nanos = new Histogram(LONGEST_NANOS, DIGITS);
    private long answered;
    private long wrong;
    private boolean isOver;

    /** @param request which is written for each question, and never released */
    PolledRequests(ByteBuf request) {
        this.request = request;
    }

    ChannelInboundHandlerAdapter newHandler() {
        return new Answers();
    }

    /** Sends the first request of a channel. */
    void begin(Channel channel) {
        channel.pipeline().get(Answers.class).ask(channel.pipeline().context(Answers.class));
    }

    /** Forgets what has been measured, and returns when. */
    long startMeasuring() {
        nanos.reset();
        return System.nanoTime();
    }

    /** Returns what was measured. Connections that end from now on are not wrong. */
    Result result() {
        isOver = true;
        return new Result(answered, wrong, nanos.copy(), System.nanoTime());
    }

    private final class Answers extends ChannelInboundHandlerAdapter {
        /** What has come of the first answer; null when its length is known. */
        private StringBuilder head = new StringBuilder();
        private int answerBytes;
        private int receivedBytes;
        private long askedNanos;
        private boolean isWrong;

        void ask(ChannelHandlerContext ctx) {
            receivedBytes = 0;
            askedNanos = System.nanoTime();
            ctx.writeAndFlush(request.duplicate(), ctx.voidPromise());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ByteBuf data = (ByteBuf) msg;
            if (head != null) {
                head.append(data.toString(StandardCharsets.US_ASCII));
                readHead();
            } else if (hasStatus(data) && statusOf(data) != GOOD.charAt(STATUS_AT)) {
                isWrong = true;
            }
            receivedBytes += data.readableBytes();
            data.release();
            if (head == null && receivedBytes >= answerBytes) {
                if (isWrong || receivedBytes > answerBytes) {
                    // What follows a wrong answer, or one of another length, cannot be told apart.
                    ctx.close();
                    return;
                }
                answered++;
                nanos.recordValue(Math.min(LONGEST_NANOS, System.nanoTime() - askedNanos));
                ask(ctx);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            if (!isOver) {
                wrong++;
            }
        }

        /** Returns whether the first digit of the status is in what comes now. */
        private boolean hasStatus(ByteBuf data) {
            return receivedBytes <= STATUS_AT && receivedBytes + data.readableBytes() > STATUS_AT;
        }

        private char statusOf(ByteBuf data) {
            return (char) data.getByte(data.readerIndex() + STATUS_AT - receivedBytes);
        }

        private void readHead() {
            int end = head.indexOf(HEAD_END);
            if (end >= 0) {
                Matcher length = LENGTH.matcher(head.substring(0, end + 2));
                if (head.indexOf(GOOD) != 0 || !length.find()) {
                    throw new IllegalStateException("not an answer with a length: " + head);
                }
                answerBytes = end + HEAD_END.length() + Integer.parseInt(length.group(1));
                head = null;
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}

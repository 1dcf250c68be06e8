package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramPacket;
import io.netty.bootstrap.Bootstrap;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PolledDatagramsTest {
    private static final int UNDER_WAY = 8;
    private static final int IS_ANSWER = 0x8000;

    private final EventLoopGroup group = new RdmaRawEventLoopGroup(1,
            RdmaRawIoHandlerConfig.builder().device("soft:loop:polled-datagrams").build());
    private final PolledDatagrams client = new PolledDatagrams();
    private final AtomicInteger questions = new AtomicInteger();

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Starts a server that answers every query except those with a number that is a multiple of {@code lost}. */
    private InetSocketAddress serve(int lost) throws InterruptedException {
        Channel server = new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                .handler(new SimpleChannelInboundHandler<DatagramPacket>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
                        int number = questions.incrementAndGet();
                        if (number % lost != 0) {
                            answer(ctx, packet.retain());
                        }
                    }
                }).bind(new InetSocketAddress("127.0.0.1", 0)).sync().channel();
        return (InetSocketAddress) server.localAddress();
    }

    private PolledClient.Result ask(PolledDatagrams client, int lost, long answers) throws InterruptedException {
        client.open(group, serve(lost), UNDER_WAY);
        group.submit(() -> {
            client.startMeasuring();
            // The client asks from open() on, and only answers after this point are measured.
            questions.set(0);
        }).sync();
        while (questions.get() < answers) {
            Thread.onSpinWait();
        }
        PolledClient.Result result = group.submit(client::result).sync().getNow();
        client.close();
        return result;
    }

    /** No query is late, however busy the machine. */
    @Test
    void eachAnswerIsFollowedByAQuestion() throws InterruptedException {
        PolledClient.Result result = ask(new PolledDatagrams(TimeUnit.DAYS.toNanos(1)), Integer.MAX_VALUE, 1000);
        assertTrue(result.nanos().getTotalCount() > 900, "answers: " + result.nanos().getTotalCount());
        assertEquals(0, result.wrong());
    }

    /**
     * A late answer must be ignored. Otherwise it would trigger an additional query, and one more query would be
     * outstanding from then on.
     */
    @Test
    void aLateAnswerIsNotTheAnswerToTheQuestionThatWasAskedAgain() throws InterruptedException {
        int onTime = 12;
        int held = onTime + UNDER_WAY;
        int askedAgain = held + UNDER_WAY;
        List<DatagramPacket> late = new ArrayList<>();
        CompletableFuture<PolledClient.Result> result = new CompletableFuture<>();
        Channel server = new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                .handler(new SimpleChannelInboundHandler<DatagramPacket>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
                        int number = questions.incrementAndGet();
                        if (number > onTime && number <= held) {
                            late.add(packet.retain());
                        } else if (number == askedAgain) {
                            late.forEach(each -> answer(ctx, each));
                            answer(ctx, packet.retain());
                        } else if (number > askedAgain) {
                            // This runs on the client's loop, before the client sends another query.
                            result.complete(client.result());
                        } else if (number <= onTime) {
                            answer(ctx, packet.retain());
                        }
                    }
                }).bind(new InetSocketAddress("127.0.0.1", 0)).sync().channel();
        client.open(group, (InetSocketAddress) server.localAddress(), UNDER_WAY);
        PolledClient.Result told = result.join();
        client.close();
        assertEquals(onTime + 1, told.nanos().getTotalCount());
        assertEquals(UNDER_WAY, told.wrong());
    }

    private static void answer(ChannelHandlerContext ctx, DatagramPacket question) {
        ByteBuf content = question.content();
        int id = content.getUnsignedShort(content.readerIndex());
        content.setShort(content.readerIndex() + 2, IS_ANSWER | (id % 4 == 3 ? 3 : 0));
        ctx.writeAndFlush(new DatagramPacket(content, question.sender()));
    }

    /**
     * More queries are lost than are outstanding. If lost queries were not replaced, the client would soon have none
     * outstanding.
     */
    @Test
    void lostQueryIsRepeated() throws InterruptedException {
        PolledClient.Result result = ask(client, 50, 50 * (UNDER_WAY + 2));
        assertTrue(result.wrong() >= 2, "lost: " + result.wrong());
    }
}

package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Collects the messages, events and exceptions of a channel for the test's thread. */
final class FrameQueueHandler extends ChannelInboundHandlerAdapter {

    final BlockingQueue<Object> messages = new LinkedBlockingQueue<>();
    final BlockingQueue<Object> events = new LinkedBlockingQueue<>();
    final BlockingQueue<Throwable> errors = new LinkedBlockingQueue<>();

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        messages.add(msg);
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        events.add(event);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        errors.add(cause);
    }

    ByteBuf takeFrame() throws InterruptedException {
        return (ByteBuf) take(messages, "frame");
    }

    Object takeEvent() throws InterruptedException {
        return take(events, "event");
    }

    static <T> T take(BlockingQueue<T> queue, String what) throws InterruptedException {
        T message = queue.poll(Patience.SECONDS, TimeUnit.SECONDS);
        if (message == null) {
            throw new AssertionError("no " + what + " came");
        }
        return message;
    }
}

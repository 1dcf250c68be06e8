package io.rdmaraw.tools.demo.sockets;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.socket.DatagramPacket;
import java.net.InetSocketAddress;

/** A socket that sends datagrams of several lengths, each after the reply to the one before. */
final class DatagramCheck extends EchoCheck {
    private final InetSocketAddress server;
    private final int[] lengths;
    private int index;
    private int servedBy;

    DatagramCheck(int sender, InetSocketAddress server, int... lengths) {
        super(sender);
        this.server = server;
        this.lengths = lengths;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        send(ctx);
    }

    private void send(ChannelHandlerContext ctx) {
        ByteBuf content = ctx.alloc().directBuffer(lengths[index]);
        pattern().write(content, index, lengths[index]);
        ctx.writeAndFlush(new DatagramPacket(content, server));
    }

    @Override
    ByteBuf contentOf(Object msg) {
        return ((DatagramPacket) msg).content();
    }

    @Override
    void received(ChannelHandlerContext ctx, ByteBuf content) {
        int loop = content.isReadable() ? content.readByte() : -1;
        if (index == 0) {
            // The device chooses the loop of a whole datagram. The transport chooses that of a fragmented one.
            servedBy = loop;
        }
        int length = content.readableBytes();
        if (length != lengths[index] || pattern().firstDifference(content, index) >= 0) {
            fail("a datagram of " + lengths[index] + " bytes came back changed, with " + length + " bytes");
        } else if (++index < lengths.length) {
            send(ctx);
        } else {
            succeed(servedBy);
        }
    }

    @Override
    String progress() {
        return index + " of " + lengths.length + " datagrams"
                + (index < lengths.length ? "; the next has " + lengths[index] + " bytes" : "");
    }
}

package io.rdmaraw.examples.dns;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.dns.DefaultDnsResponse;
import io.netty.handler.codec.dns.DnsQuery;
import io.netty.handler.codec.dns.DnsResponse;

/** Answers queries over TCP (RFC 7766), which does not limit the length of an answer. */
final class TcpQueryHandler extends SimpleChannelInboundHandler<DnsQuery> {
    private final Responder responder;

    TcpQueryHandler(Responder responder) {
        this.responder = responder;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, DnsQuery query) {
        DnsResponse response = new DefaultDnsResponse(query.id(), query.opCode());
        responder.answer(query, response);
        ctx.write(response, ctx.voidPromise());
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        responder.countUnreadable();
        ctx.close();
    }
}

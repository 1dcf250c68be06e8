package io.rdmaraw.examples.dns;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.dns.DatagramDnsQuery;
import io.netty.handler.codec.dns.DatagramDnsResponse;
import io.netty.handler.codec.dns.DnsResponseCode;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/** Answers queries over UDP. All queries of one read share a flush. */
final class UdpQueryHandler extends SimpleChannelInboundHandler<DatagramDnsQuery> {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(UdpQueryHandler.class);

    private final Responder responder;

    UdpQueryHandler(Responder responder) {
        this.responder = responder;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, DatagramDnsQuery query) {
        DatagramDnsResponse response = new DatagramDnsResponse(query.recipient(), query.sender(), query.id(),
                query.opCode(), DnsResponseCode.NOERROR);
        responder.answerDatagram(query, response);
        ctx.write(response, ctx.voidPromise());
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }

    /** Drops a message that cannot be decoded. It is not answered, because its source address may be forged. */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        responder.countUnreadable();
        LOGGER.debug("not a query", cause);
    }
}

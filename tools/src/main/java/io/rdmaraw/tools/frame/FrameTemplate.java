package io.rdmaraw.tools.frame;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * An Ethernet frame described by text, layer by layer from the outside:
 *
 * <pre>eth(dst=02:00:00:00:00:02)/vlan(id=5)/ipv4(src=198.18.0.1,dst=198.18.0.2)/udp(dst=7)/payload(length=18)</pre>
 *
 * <p>Every field has a default, so {@code eth/ipv4/udp} is a complete template. Ethertypes, lengths and checksums are
 * computed. Immutable.
 */
public final class FrameTemplate {
    /** Syntax of templates with the fields of each layer, for help texts. */
    public static final String SYNTAX =
            "eth(dst,src,type)[/vlan(id,prio,type)][/ipv4(src,dst,ttl,tos,id)|/ipv6(src,dst,hlim,tc,fl)]"
            + "[/udp(src,dst)|/tcp(src,dst,seq,ack,flags,window)][/payload(length|hex)]";
    private static final int MAX_FRAME_BYTES = 65_535;

    private final List<Layer> headers;
    private final byte[] payload;

    private FrameTemplate(List<Layer> headers, byte[] payload) {
        this.headers = List.copyOf(headers);
        this.payload = payload;
    }

    /**
     * Parses a template.
     *
     * @throws IllegalArgumentException if the template is invalid; the message is one sentence
     */
    public static FrameTemplate parse(String template) {
        try {
            return of(LayerText.split(template).stream().map(FrameTemplate::layer).toList());
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "frame template '" + template + "': " + e.getMessage() + " (syntax: " + SYNTAX + ")", e);
        }
    }

    private static Layer layer(LayerText text) {
        return switch (text.name()) {
            case "eth" -> Layer.Ethernet.of(text);
            case "vlan" -> Layer.Vlan.of(text);
            case "ipv4" -> Layer.Ipv4.of(text);
            case "ipv6" -> Layer.Ipv6.of(text);
            case "udp" -> Layer.Udp.of(text);
            case "tcp" -> Layer.Tcp.of(text);
            case "payload" -> Layer.Payload.of(text);
            default -> throw new IllegalArgumentException("there is no layer '" + text.name() + "'");
        };
    }

    private static FrameTemplate of(List<Layer> layers) {
        List<Layer> headers = new ArrayList<>(layers);
        byte[] payload = new byte[0];
        if (headers.getLast() instanceof Layer.Payload last) {
            payload = last.bytes();
            headers.removeLast();
        }
        Layer outer = null;
        for (Layer layer : headers) {
            if (!isValidOver(layer, outer)) {
                throw new IllegalArgumentException("a layer '" + nameOf(layer) + "' cannot "
                        + (outer == null ? "begin a frame" : "follow '" + nameOf(outer) + "'"));
            }
            outer = layer;
        }
        if (headers.isEmpty()) {
            throw new IllegalArgumentException("a frame begins with eth");
        }
        return new FrameTemplate(headers, payload);
    }

    private static boolean isValidOver(Layer layer, Layer outer) {
        return switch (layer) {
            case Layer.Ethernet ethernet -> outer == null;
            case Layer.Vlan vlan -> outer instanceof Layer.Ethernet || outer instanceof Layer.Vlan;
            case Layer.Ip ip -> outer instanceof Layer.Ethernet || outer instanceof Layer.Vlan;
            case Layer.Transport transport -> outer instanceof Layer.Ip;
            case Layer.Payload inTheMiddle -> false;
        };
    }

    private static String nameOf(Layer layer) {
        return switch (layer) {
            case Layer.Ethernet ethernet -> "eth";
            case Layer.Vlan vlan -> "vlan";
            case Layer.Ipv4 ipv4 -> "ipv4";
            case Layer.Ipv6 ipv6 -> "ipv6";
            case Layer.Udp udp -> "udp";
            case Layer.Tcp tcp -> "tcp";
            case Layer.Payload payload -> "payload";
        };
    }

    /** Returns the total length of the headers. */
    public int headerBytes() {
        return headers.stream().mapToInt(Layer::headerBytes).sum();
    }

    /** Builds the frame with the payload of the template, without FCS and padding. */
    public byte[] build() {
        return build(headerBytes() + payload.length);
    }

    /**
     * Builds the frame with a payload that is cut or extended to reach a length.
     *
     * @param frameBytes length of the frame without FCS
     * @throws IllegalArgumentException if the headers alone are longer, or the length exceeds that of any frame
     */
    public byte[] build(int frameBytes) {
        return build(frameBytes, payloadBytes -> { });
    }

    /**
     * Same as {@link #build(int)}, but allows the caller to change the payload before the checksums are computed.
     *
     * @param change receives the payload of this frame and may modify it
     */
    public byte[] build(int frameBytes, Consumer<byte[]> change) {
        if (frameBytes < headerBytes() || frameBytes > MAX_FRAME_BYTES) {
            throw new IllegalArgumentException("a frame of " + frameBytes + " bytes is not possible: the headers of the"
                    + " template take " + headerBytes() + " bytes, and no frame is longer than " + MAX_FRAME_BYTES);
        }
        ByteBuf frame = Unpooled.buffer(frameBytes, frameBytes);
        for (int i = 0; i < headers.size(); i++) {
            Layer layer = headers.get(i);
            Layer next = i + 1 < headers.size() ? headers.get(i + 1) : null;
            layer.writeHeader(frame, next, frame.writableBytes() - layer.headerBytes());
        }
        byte[] content = Layer.Payload.counting(payload, frame.writableBytes());
        change.accept(content);
        frame.writeBytes(content);
        if (headers.getLast() instanceof Layer.Transport transport) {
            transport.writeChecksum(frame, headerBytes() - transport.headerBytes(),
                    (Layer.Ip) headers.get(headers.size() - 2));
        }
        return frame.array();
    }
}

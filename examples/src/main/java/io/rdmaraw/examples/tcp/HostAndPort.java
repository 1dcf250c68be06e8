package io.rdmaraw.examples.tcp;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.net.InetAddress;
import java.net.InetSocketAddress;

/** Parses addresses such as {@code 127.0.0.1:80} and {@code [::1]:80}. */
final class HostAndPort implements ITypeConverter<InetSocketAddress> {
    @Override
    public InetSocketAddress convert(String text) {
        int colon = text.lastIndexOf(':');
        try {
            return new InetSocketAddress(InetAddress.ofLiteral(text.substring(0, colon)),
                    Integer.parseInt(text.substring(colon + 1)));
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            throw new TypeConversionException('\'' + text + "' is not like 127.0.0.1:80 or [::1]:80");
        }
    }
}

package io.rdmaraw.examples.server;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Parses the names of transports in options of commands. */
public final class TransportNames extends ArrayList<String> implements ITypeConverter<Transport> {
    private static final long serialVersionUID = 1L;

    /** picocli creates it. */
    public TransportNames() {
        super(List.of(Transport.values()).stream().map(Transport::toString).collect(Collectors.toList()));
    }

    @Override
    public Transport convert(String name) {
        return Arrays.stream(Transport.values()).filter(transport -> transport.toString().equals(name)).findFirst()
                .orElseThrow(() -> new TypeConversionException(
                        '\'' + name + "' is none of " + String.join(", ", this)));
    }
}

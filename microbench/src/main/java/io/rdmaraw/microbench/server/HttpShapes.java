package io.rdmaraw.microbench.server;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.stream.Stream;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Parses the names of shapes in options of commands. */
final class HttpShapes extends ArrayList<String> implements ITypeConverter<HttpShape> {
    private static final long serialVersionUID = 1L;

    /** picocli creates it. */
    HttpShapes() {
        super(Stream.of(HttpShape.values()).map(HttpShape::text).toList());
    }

    @Override
    public HttpShape convert(String name) {
        return Arrays.stream(HttpShape.values()).filter(shape -> shape.text().equals(name)).findFirst()
                .orElseThrow(() -> new TypeConversionException('\'' + name + "' is none of "
                        + String.join(", ", this)));
    }
}

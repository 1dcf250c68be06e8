package io.rdmaraw.microbench.tcp;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.stream.Collectors;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Parses the values of {@code --flood-kind}. */
final class FloodKinds extends ArrayList<String> implements ITypeConverter<FloodKind> {
    private static final long serialVersionUID = 1L;

    /** Called by picocli. */
    FloodKinds() {
        super(Arrays.stream(FloodKind.values()).map(FloodKind::toString).collect(Collectors.toList()));
    }

    @Override
    public FloodKind convert(String name) {
        return Arrays.stream(FloodKind.values()).filter(kind -> kind.toString().equals(name)).findFirst()
                .orElseThrow(() -> new TypeConversionException(
                        '\'' + name + "' is none of " + String.join(", ", this)));
    }
}

package io.rdmaraw.microbench.result;

import io.rdmaraw.testsuite.net.Offloads;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The option that switches checksum and segmentation offloads of a bench's veth pair. */
public final class OffloadsOption {
    @Option(names = "--offloads", paramLabel = "on|off", defaultValue = "on", converter = Names.class,
            description = "on: all offloads of the kernel's veth driver, as in containers; off: no offloads at both"
                    + " ends, so that frames are as on a cable (${DEFAULT-VALUE})")
    private Offloads offloads;

    /** Returns the chosen offloads. */
    public Offloads offloads() {
        return offloads;
    }

    /** Returns a progress line that describes the offloads. */
    public static String describe(Offloads offloads) {
        return offloads == Offloads.OFF ? "veth pair: all offloads off, as frames are on a cable"
                : "veth pair: all offloads on, the kernel's default";
    }

    /** Converts the words of the command line. */
    static final class Names implements ITypeConverter<Offloads> {
        @Override
        public Offloads convert(String word) {
            return switch (word) {
                case "on" -> Offloads.AS_MADE;
                case "off" -> Offloads.OFF;
                default -> throw new TypeConversionException('\'' + word + "' is neither on nor off");
            };
        }
    }
}

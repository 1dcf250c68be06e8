package io.rdmaraw.testsuite.sim;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LabelTarget;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.HashSet;
import java.util.Set;

/**
 * Loads the core and the simulator again and inserts calls of {@link Steps} into the core's classes, at each
 * backward jump and each array copy. The core's work is thus counted without code in the core. Each loader has
 * its own count, for one thread.
 */
final class StepCountingLoader extends ClassLoader {
    private static final String CORE = "io.rdmaraw.tcp.";
    private static final String SIMULATOR = "io.rdmaraw.testsuite.sim.";
    private static final ClassDesc STEPS = ClassDesc.of(SIMULATOR + "Steps");
    private static final MethodTypeDesc NOTHING = MethodTypeDesc.of(ConstantDescs.CD_void);
    private static final MethodTypeDesc INT = MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_int);

    static {
        registerAsParallelCapable();
    }

    StepCountingLoader(ClassLoader parent) {
        super(parent);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(CORE) && !name.startsWith(SIMULATOR)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded == null) {
                byte[] bytes = bytesOf(name);
                byte[] counting = name.startsWith(CORE) ? counting(bytes) : bytes;
                loaded = defineClass(name, counting, 0, counting.length);
            }
            return loaded;
        }
    }

    private byte[] bytesOf(String name) throws ClassNotFoundException {
        try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
            if (in == null) {
                throw new ClassNotFoundException(name);
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static byte[] counting(byte[] bytes) {
        ClassFile file = ClassFile.of();
        return file.transformClass(file.parse(bytes),
                ClassTransform.transformingMethodBodies(CodeTransform.ofStateful(Counting::new)));
    }

    /** Transforms the code of one method. */
    private static final class Counting implements CodeTransform {
        private final Set<Label> passed = new HashSet<>();

        @Override
        public void accept(CodeBuilder builder, CodeElement element) {
            switch (element) {
                case LabelTarget target -> passed.add(target.label());
                case BranchInstruction branch when passed.contains(branch.target()) ->
                        builder.invokestatic(STEPS, "turn", NOTHING);
                case InvokeInstruction call when call.owner().asInternalName().equals("java/lang/System")
                        && call.name().equalsString("arraycopy") ->
                        builder.dup().invokestatic(STEPS, "moved", INT);
                default -> {
                    // Takes constant time on each execution.
                }
            }
            builder.with(element);
        }
    }
}

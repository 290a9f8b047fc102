# Writes intent.pth into the site-packages of PYTHON: PATHS become importable there.
execute_process(COMMAND ${PYTHON} -c "import sysconfig; print(sysconfig.get_path('purelib'))"
                OUTPUT_VARIABLE site OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(JOIN PATHS "\n" lines)
file(WRITE ${site}/intent.pth "${lines}\n")

print("main ok")
